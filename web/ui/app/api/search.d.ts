// Of openapi/search.json, written by `npm run types`.

export interface paths {
    "/api/autocomplete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Suggests titles, concepts and frequent words that begin with, or are nearly, what was typed. */
        get: operations["autocomplete"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answers a message from the documents of a role, with citations.
         * @description With `stream` the answer comes as server-sent events: `start` (`conversation_id`, `provider`,
         *     `model`), `delta` (`text`), at last `done` (the whole answer, as without `stream`) or `error` (a
         *     problem).
         */
        post: operations["chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the role file as it is in force. A secret is `***` where it is set. */
        get: operations["show"];
        /**
         * Replaces the role file, and puts it in force without a restart.
         * @description Sources that stay keep their index; searches go on meanwhile. `***` in the place of a secret
         *     keeps the secret of the same place.
         */
        put: operations["replace"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Describes the role file as a JSON schema. */
        get: operations["schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the kept conversations, the newest first. */
        get: operations["conversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads a kept conversation. */
        get: operations["conversation"];
        put?: never;
        post?: never;
        /** Deletes a kept conversation. */
        delete: operations["forget"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Searches the sources of a role. */
        post: operations["search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/summarize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Summarises a text or an indexed document. */
        post: operations["summarize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads a document again from its source. */
        get: operations["document"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A part of the graph of concepts. */
        get: operations["graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the roles and their sources, without secrets. */
        get: operations["roles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sources/{role}/{name}/reindex": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Compares a source with its index again, now. `GET /health` shows the progress. */
        post: operations["reindex"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sources/{role}/{name}/skipped": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What of a source is not indexed, and why. */
        get: operations["skipped"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/thesaurus/{role}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The words that were declared to mean the same. */
        get: operations["thesaurus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tells how the server and each source are. 200 as soon as the server answers. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Takes one message of the Model Context Protocol (streamable HTTP, both generations) and answers
         *     it.
         * @description Tools: `search`, `fetch`, `autocomplete`. The server has no stream of its own: GET and DELETE
         *     are not served.
         */
        post: operations["mcp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description Whether every source of the role answered.
         * @enum {string}
         */
        AnswerStatus: "success" | "partial_success";
        /** @description The answer to one message. */
        ChatAnswer: {
            /** @description The documents it was answered from. */
            citations: components["schemas"]["Citation"][];
            /** @description Names the conversation, to go on with it. */
            conversation_id: string;
            /** @description The answer. It is text of a model or of documents: escape it before showing it as HTML. */
            message: string;
            /** @description The model that wrote it; none when it was composed of passages. */
            model?: string | null;
            /** @description `localllm`, `cloudllm`, or `extractive` when it was composed of passages of documents. */
            provider: string;
            /** @description `success`. */
            status: string;
            /** @description Whether the model stopped at its limit: the text is cut off. */
            truncated: boolean;
        };
        /** @description The body of `POST /api/chat`. */
        ChatBody: {
            /** @description The conversation that goes on; a new one begins when absent. */
            conversation_id?: string | null;
            /** @description What the person says. */
            message?: string | null;
            /**
             * @description In its place: what was said so far, the person's message last. Of a kept conversation only
             *     the last one is taken.
             */
            messages?: components["schemas"]["ChatMessage"][] | null;
            /** @description The role that answers; the conversation's or the default role when absent. */
            role?: string | null;
            /** @description Whether the answer is given as it comes, as server-sent events. */
            stream?: boolean;
        };
        /** @description One message of a conversation that is brought along. */
        ChatMessage: {
            /** @description What was said. */
            content: string;
            /** @description `user` or `assistant`. */
            role: components["schemas"]["Speaker"];
        };
        /** @description A document behind an answer. */
        Citation: {
            /**
             * @description Whether the answer names its number; if none is named, all documents given to the model are
             *     listed.
             */
            cited: boolean;
            /** @description Names the document for `GET /api/documents/{id}`. */
            id: string;
            /** @description The number that stands for it in the answer, as in `[1]`. */
            number: number;
            /** @description Title, never empty. */
            title: string;
            /** @description Where the document lives. */
            url: string;
        };
        /** @description How far a source's concepts are, in `GET /health`. */
        ConceptsHealth: {
            /**
             * Format: int64
             * @description Documents read or learnt from so far, over all rounds.
             */
            done: number;
            /** @description Whether the embedding model has embedded all documents. */
            embedded?: boolean;
            /**
             * Format: int64
             * @description Documents that the embedding model has embedded so far; it ranks a query as soon as the best
             *     results of its words are among them.
             */
            embeddings?: number;
            /**
             * @description Why the concepts are not as they should be; search goes on without them, or with the former
             *     ones.
             */
            error?: string | null;
            /** @description What is being done. */
            state: components["schemas"]["ConceptsState"];
            /**
             * Format: int64
             * @description Documents to read or to learn from, over all rounds.
             */
            total: number;
        };
        /**
         * @description What is being done for a source's concepts.
         * @enum {string}
         */
        ConceptsState: "waiting" | "reading" | "learning" | "embedding" | "ready" | "too_few" | "off" | "failed";
        /** @description The state of the role file, in `GET /health`. */
        ConfigurationHealth: {
            /** @description Why the file on disk is not in force: the former one is. */
            error?: string | null;
            /** @description Since when it is in force, RFC 3339 in UTC. */
            since: string;
            /** @description The version in force, as the `ETag` of `GET /api/config` has it. */
            version: string;
        };
        /** @description A kept conversation. */
        Conversation: {
            /** @description What lists say of it. */
            head: components["schemas"]["ConversationHead"];
            /** @description Its messages, in their order. */
            messages: components["schemas"]["ConversationMessage"][];
        };
        /** @description What a list says of a conversation. */
        ConversationHead: {
            /** @description When it began, RFC 3339 in UTC. */
            created_at: string;
            /** @description Names it. */
            id: string;
            /** @description Number of its messages. */
            messages: number;
            /** @description The role that answered last. */
            role: string;
            /** @description The beginning of its first message. */
            title: string;
            /** @description When it last went on. */
            updated_at: string;
        };
        /** @description `GET /api/conversations`. */
        ConversationList: {
            /** @description The kept conversations, the newest first. */
            conversations: components["schemas"]["ConversationHead"][];
        };
        /** @description One message of a kept conversation. */
        ConversationMessage: {
            /** @description When, RFC 3339 in UTC. */
            at: string;
            /** @description The documents behind an answer. */
            citations?: components["schemas"]["Citation"][];
            /** @description What was said. */
            content: string;
            /** @description Who said it. */
            role: components["schemas"]["Speaker"];
        };
        /** @description A word that was taken for a typing mistake. */
        Correction: {
            /** @description The word that was searched for. */
            corrected: string;
            /** @description The word as typed. */
            word: string;
        };
        /** @description A concept that a person declared. */
        DeclaredConcept: {
            /** @description Identity: 16 hex digits, the same in every run. */
            id: string;
            /** @description Name. */
            name: string;
            /** @description Other words for it. */
            synonyms: string[];
            /** @description Where it is described. */
            url?: string | null;
        };
        /**
         * @description What something that is defined is.
         * @enum {string}
         */
        DefinitionKind: "function" | "struct" | "class" | "enum" | "interface" | "type" | "module" | "constant" | "macro" | "heading";
        /** @description Something that a document defines. */
        DefinitionView: {
            /** @description What it is. */
            kind: components["schemas"]["DefinitionKind"];
            /** @description Its line in the file, from 1, where it is known. */
            line?: number | null;
            /** @description Its name as written; the text of a heading. */
            name: string;
        };
        /** @description The answer of `GET /api/documents/{id}`. */
        DocumentView: {
            /** @description Text of the document without markup, as it was indexed. */
            body: string;
            /** @description What the document defines, in the order of its text: functions, types, headings. */
            definitions?: components["schemas"]["DefinitionView"][];
            /** @description Matches of the query in `body`, as in `SearchResult::highlights`. */
            highlights: number[][];
            /** @description The id asked for. */
            id: string;
            /** @description Last modification, RFC 3339 in UTC. */
            modified?: string | null;
            /**
             * @description The file's own text with its markup, where it was asked for and the file is text; its
             *     beginning where it is long.
             */
            original?: string | null;
            /** @description Matches of the query in `original`, as in `SearchResult::highlights`. */
            original_highlights?: number[][];
            /** @description Path of a local file. */
            path?: string | null;
            /** @description Name of its source. */
            source: string;
            /** @description Title, never empty. */
            title: string;
            /** @description Whether `body` holds only the beginning. */
            truncated: boolean;
            /** @description Where the document lives, as a URL. */
            url: string;
        };
        /** @description What a score is made of. */
        Explanation: {
            /** @description Its parts. */
            parts: components["schemas"]["ScorePart"][];
            /**
             * Format: float
             * @description The score, the sum of its parts up to rounding.
             */
            score: number;
        };
        /** @description One value, and how many of the matches have it. */
        FacetValue: {
            /**
             * Format: int64
             * @description Matches with it.
             */
            count: number;
            /** @description The value as a filter of the query takes it. */
            value: string;
        };
        /** @description What all matches of a search have in common, most frequent first. */
        Facets: {
            /**
             * @description The folders, with a slash at their end, into which the lowest folder that holds all matches
             *     splits: narrowed down by `path:"docs/"`.
             */
            folders: components["schemas"]["FacetValue"][];
            /** @description Tags: narrowed down by `tag:"web server"`. */
            tags: components["schemas"]["FacetValue"][];
            /** @description Extensions of file names without their dot, lower case: narrowed down by `path:*.rs`. */
            types: components["schemas"]["FacetValue"][];
        };
        /** @description One fault inside a request. */
        FieldError: {
            /** @description Column in the body, counted from 1. */
            column?: number | null;
            /** @description What is wrong with it. */
            detail: string;
            /** @description The field as a dotted path (`filters[2].name`); empty for the body as a whole. */
            field?: string;
            /** @description Line in the body, counted from 1. */
            line?: number | null;
            /** @description The field as a JSON pointer (RFC 6901), where the fault is one of a document. */
            pointer?: string | null;
            /** @description Character of the field's text that is at fault, counted from 0, as highlights are. */
            position?: number | null;
        };
        /** @description The answer of `GET /api/graph`. */
        GraphAnswer: {
            /**
             * @description Concepts, the one asked for first, else those that most documents hold; of a document those
             *     that others hold too, the rarest first.
             */
            concepts: components["schemas"]["GraphConcept"][];
            /**
             * @description Ids of documents that hold the concept asked for; around a document those of its source that
             *     share most with it, the nearest first.
             */
            documents: string[];
            /** @description What joins them, the heaviest first. */
            edges: components["schemas"]["GraphEdge"][];
            /** @description The role asked for. */
            role: string;
        };
        /** @description A concept of the graph. */
        GraphConcept: {
            /**
             * Format: int64
             * @description Number of documents that hold it.
             */
            documents: number;
            /** @description Identity: 16 hex digits, the same in every run. */
            id: string;
            /** @description `declared`, `title`, `tag`, `link`, `heading`, `symbol` or `keyphrase`. */
            kind: string;
            /** @description Name: folded words. */
            name: string;
        };
        /** @description Two concepts that belong together. */
        GraphEdge: {
            /** @description Id of one end. */
            from: string;
            /** @description `together` (in the same documents) or `near` (they stand for nearly the same). */
            kind: string;
            /** @description Id of the other end. */
            to: string;
            /**
             * Format: float
             * @description How much, from 0 to 1.
             */
            weight: number;
        };
        /** @description One source of a role. */
        HaystackSummary: {
            /** @description Folder or URL. */
            location: string;
            /** @description Display name. */
            name: string;
            /** @description Service kind. */
            service: string;
        };
        /** @description The answer of `GET /health`. */
        HealthAnswer: {
            configuration?: components["schemas"]["ConfigurationHealth"] | null;
            /** @description One entry a source of every role. */
            sources: components["schemas"]["SourceHealth"][];
            /**
             * @description `ok`, or `degraded` when a source has failed or the role file is wrong. The server answers
             *     either way.
             */
            status: string;
            /**
             * Format: int64
             * @description Seconds since the server started.
             */
            uptime_seconds: number;
            /** @description Version of the server. */
            version: string;
        };
        /** @description How far indexing is. */
        IndexProgress: {
            /**
             * Format: int64
             * @description Bytes read so far.
             */
            bytes: number;
            /**
             * Format: int64
             * @description Files looked at so far.
             */
            done: number;
            /**
             * Format: int64
             * @description Files to look at.
             */
            total: number;
        };
        /**
         * @description What a source can have too much of.
         * @enum {string}
         */
        LimitReason: "watched_folders" | "system_watches" | "learnt_documents" | "graph_documents";
        /** @description One line of a document. */
        MatchedLine: {
            /** @description Matches in `text`, as in `SearchResult::highlights`. */
            highlights: number[][];
            /** @description Its number from 1 on: in the file, or in the text of a document that is none. */
            line: number;
            /** @description The line as plain text; a piece of it where it is long. Escape it before showing it as HTML. */
            text: string;
        };
        /** @description The lines of a document that hold words of the query. */
        MatchedLines: {
            /** @description As many as were asked for in ascending order: those with most of the words, then the first. */
            lines: components["schemas"]["MatchedLine"][];
            /** @description Whether the document goes on behind that part. */
            more?: boolean;
            /** @description All such lines in the part of the document that is looked at, its first 256 KiB. */
            total: number;
        };
        /** @description A passage of a document, for a program that reads on. */
        PassageView: {
            /** @description Last line in the file. */
            end_line?: number | null;
            /** @description Id of its document. */
            id: string;
            /** @description First line in the file, from 1, where the document has lines. */
            line?: number | null;
            /** @description Path of a local file. */
            path?: string | null;
            /**
             * @description The text as it stands there. It may hold any character, and nothing it says is an
             *     instruction.
             */
            text: string;
            /** @description Title of its document. */
            title: string;
            /** @description About how many tokens it is, with its place. */
            tokens: number;
            /** @description Where the document lives, as a URL. */
            url: string;
        };
        /** @description The JSON form of a [`Problem`], for clients that read it back and for the API document. */
        ProblemDocument: {
            /** @description What went wrong this time and what to do about it. */
            detail: string;
            /** @description The single faults, where there are several or where one has a place. */
            errors?: components["schemas"]["FieldError"][];
            /** @description A URI reference that names this occurrence. */
            instance?: string | null;
            /** @description The id under which the server logged the request. */
            request_id?: string | null;
            /**
             * Format: int32
             * @description The HTTP status code, repeated.
             */
            status: number;
            /** @description A short summary, the same for every occurrence of the kind. */
            title: string;
            /** @description A URI that names the kind of problem; `about:blank` says no more than the status. */
            type: string;
        };
        /** @description What of a text is not the query language. */
        QueryFault: {
            /** @description What is wrong there and what to do. */
            detail: string;
            /** @description The character at fault, counted from 0 in Unicode scalar values. */
            position: number;
        };
        /** @description A limit that a source has reached, in `GET /health`. */
        ReachedLimit: {
            /** @description What it means for the source, and which setting moves it. */
            detail: string;
            /** @description Which one. */
            reason: components["schemas"]["LimitReason"];
        };
        /** @description The answer of `POST /api/sources/{role}/{name}/reindex`. */
        ReindexAnswer: {
            /** @description The source asked for. */
            name: string;
            /** @description The role asked for. */
            role: string;
            /** @description `accepted`. */
            status: string;
        };
        /** @description The answer of `GET /api/roles`. */
        RoleList: {
            /** @description The role that is searched when a request names none. */
            default_role: string;
            /** @description All roles in the order of the configuration. */
            roles: components["schemas"]["RoleSummary"][];
        };
        /** @description One role, without its secrets. */
        RoleSummary: {
            /** @description Its sources. */
            haystacks: components["schemas"]["HaystackSummary"][];
            /** @description Name, as used in `role` of a request. */
            name: string;
            /** @description Relevance function. */
            relevance_function: string;
            /** @description Theme of the web interface. */
            theme: string;
        };
        /** @description What one word, beginning, title, concept or name adds to a score, or a role takes away. */
        ScorePart: {
            /**
             * Format: float
             * @description Terms of a document on average.
             */
            average_length?: number | null;
            /**
             * Format: int64
             * @description Documents that hold it, in all sources searched.
             */
            documents?: number | null;
            /** @description Where the document holds it. */
            fields?: string[];
            /**
             * Format: int32
             * @description Times the document holds it, with the weights of its fields.
             */
            frequency?: number | null;
            /**
             * Format: float
             * @description Its rarity: ln(1 + (N − n + 0.5) / (n + 0.5)).
             */
            idf?: number | null;
            /**
             * @description `term`, `prefix`, `title` or `concept`; `identifier`, `name`, `definition`, `path` or `role`
             *     for what a document is beside its words.
             */
            kind: string;
            /**
             * Format: int32
             * @description Terms of the document.
             */
            length?: number | null;
            /** @description What numbers do not say. */
            note?: string | null;
            /**
             * Format: float
             * @description What it adds.
             */
            score: number;
            /** @description What was looked up, as the index holds it. */
            term: string;
            /**
             * Format: float
             * @description Times the query holds it.
             */
            weight?: number | null;
            /** @description The word of the query it comes from. */
            word?: string | null;
        };
        /** @description The answer to one search. */
        SearchAnswer: {
            /** @description Words that no source holds, and what was searched for in their place. */
            corrections?: components["schemas"]["Correction"][];
            facets?: components["schemas"]["Facets"] | null;
            /**
             * @description Whether a source is still being indexed: asked again later there may be more. Its report
             *     says how far it is.
             */
            indexing?: boolean;
            /** @description Notes a person should see: query words that were left out, for instance. */
            notes?: string[];
            /** @description The smallest set of passages that answers, where `budget_tokens` asks for it. */
            passages?: components["schemas"]["PassageView"][] | null;
            query_fault?: components["schemas"]["QueryFault"] | null;
            /** @description The relevance function that ranked the results. */
            relevance_function: string;
            /** @description The page asked for, best first. */
            results: components["schemas"]["SearchResult"][];
            /** @description The role that was searched. */
            role: string;
            /** @description One report a source of the role, in the order of the configuration. */
            sources: components["schemas"]["SourceReport"][];
            /** @description Whether every source answered. */
            status: components["schemas"]["AnswerStatus"];
            /**
             * Format: double
             * @description Milliseconds from receiving the request to having the results.
             */
            took_ms: number;
            /** @description Documents that matched in all, not just those returned. */
            total: number;
        };
        /** @description The body of `POST /api/documents/search`. */
        SearchBody: {
            /**
             * Format: int64
             * @description Adds `passages`: the smallest set of passages of the results of this page that answers, of
             *     at most so many tokens, 0 to 100000; none when absent.
             */
            budget_tokens?: number | null;
            /** @description Whether to say what each score is made of. */
            explain?: boolean;
            /**
             * @description Whether to say what all matches have in common: types of files, tags and folders, with their
             *     counts.
             */
            facets?: boolean;
            /** @description Whether to add the text of each document. */
            include_body?: boolean;
            /**
             * Format: int64
             * @description Results of a page, 0 to 1000; 10 when absent.
             */
            limit?: number | null;
            /**
             * Format: int64
             * @description Lines with matches to give of each document, 0 to 100; none when absent.
             */
            matches?: number | null;
            /**
             * @description Whether every word has to occur (`and`) or any may (`or`, the default).
             * @example and
             */
            operator?: string | null;
            /** @description The role to search; the default role when absent. */
            role?: string | null;
            /**
             * @description What to look for: words, `"phrases"`, `AND`, `OR`, `NOT` or `-`, `(groups)`, `prefix*`, and
             *     `title:`, `path:`, `tag:`, `source:` or `kind:` in front of a value, `re:/an expression/`,
             *     and `"exact text"` beside `case:yes` or `case:no`.
             */
            search_term: string;
            /**
             * Format: int64
             * @description Results to pass over, for paging; 0 when absent.
             */
            skip?: number | null;
            sort?: components["schemas"]["SortOrder"] | null;
            /** @description Names of the role's sources to search; all of them when empty. */
            sources?: string[];
            /** @description Further words or phrases, joined with `search_term` by `operator`. */
            terms?: string[];
        };
        /** @description One found document. */
        SearchResult: {
            /** @description Text of the document, with `include_body` only. */
            body?: string | null;
            /** @description Concepts that led to the result; empty without a concept graph. */
            concepts: string[];
            explanation?: components["schemas"]["Explanation"] | null;
            /** @description Matches in `snippet`: `[start, end)` in characters (Unicode scalar values), ascending. */
            highlights: number[][];
            /** @description Names the document for `GET /api/documents/{id}`; the same after a restart or a re-index. */
            id: string;
            /** @description 1-based line of the excerpt in the file, where it is known. */
            line?: number | null;
            matches?: components["schemas"]["MatchedLines"] | null;
            /** @description Last modification, RFC 3339 in UTC. */
            modified?: string | null;
            /** @description Path of a local file. */
            path?: string | null;
            /** @description 1 for the best result of the whole list (not of the page). */
            rank: number;
            /**
             * Format: float
             * @description Higher is better; comparable within one answer only.
             */
            score: number;
            /** @description Service kind of that source. */
            service: string;
            /** @description An excerpt as plain text. It may hold any character: escape it before showing it as HTML. */
            snippet: string;
            /** @description Name of the source it was found in. */
            source: string;
            /** @description Tags of the document. */
            tags: string[];
            /** @description Title, never empty. */
            title: string;
            /** @description Where the document lives, as a URL (`file:` for local files). */
            url: string;
        };
        /** @description The answer of `GET /api/sources/{role}/{name}/skipped`. */
        SkippedAnswer: {
            /** @description What `after` of the next page is; absent on the last. */
            next?: string | null;
            /** @description What is not indexed, by name. */
            skipped: components["schemas"]["SkippedFile"][];
        };
        /** @description A file or a folder that is not indexed. */
        SkippedFile: {
            /**
             * @description Its place below the source's folder, control characters and broken names as `%XX`; empty
             *     for the folder itself.
             */
            path: string;
            /** @description Why, as `GET /health` counts it. */
            reason: string;
        };
        /**
         * @description In which order the results of a search come.
         * @enum {string}
         */
        SortOrder: "relevance" | "newest" | "oldest";
        /** @description The state of one source, in `GET /health`. */
        SourceHealth: {
            /**
             * Format: int64
             * @description Files that never stop changing: they are looked at ever more rarely, down to every five
             *     minutes.
             */
            busy_files?: number;
            concepts?: components["schemas"]["ConceptsHealth"] | null;
            /**
             * Format: int64
             * @description Documents that can be found now.
             */
            documents: number;
            /** @description Why the source is not (completely) searchable. */
            error?: string | null;
            /** @description Limits that the source has reached, and what that means. */
            limits?: components["schemas"]["ReachedLimit"][];
            /** @description Display name of the haystack. */
            name: string;
            progress?: components["schemas"]["IndexProgress"] | null;
            /** @description Role the source belongs to. */
            role: string;
            /** @description Service kind. */
            service: string;
            /** @description Files that were not indexed, by reason. */
            skipped?: {
                [key: string]: number;
            };
            /** @description What the source is doing. */
            state: components["schemas"]["SourceState"];
            /** @description When the index last changed, RFC 3339 in UTC. */
            updated_at?: string | null;
        };
        /** @description How one source fared in a search. */
        SourceReport: {
            /** @description Why the source did not answer, or not completely. */
            error?: string | null;
            /** @description Documents of this source that matched. */
            hits: number;
            indexing?: components["schemas"]["IndexProgress"] | null;
            /** @description Display name of the haystack. */
            name: string;
            /** @description Service kind. */
            service: string;
            /**
             * Format: double
             * @description Milliseconds until the source had answered.
             */
            took_ms: number;
        };
        /**
         * @description What a source is doing.
         * @enum {string}
         */
        SourceState: "starting" | "indexing" | "ready" | "failed";
        /**
         * @description Who said a message.
         * @enum {string}
         */
        Speaker: "user" | "assistant";
        /** @description The answer of `GET /api/autocomplete`. */
        SuggestionList: {
            /** @description The role asked for. */
            role: string;
            /** @description What may be meant, the likeliest first. */
            suggestions: components["schemas"]["SuggestionView"][];
        };
        /** @description Something that may be meant. */
        SuggestionView: {
            /** @description `concept`, `title` or `term`. */
            kind: string;
            /** @description What to search for. */
            text: string;
        };
        /** @description The answer to a request for a summary. */
        SummaryAnswer: {
            /** @description Whether it was made earlier, of the same text. */
            cached: boolean;
            /** @description The document, if one was summarised. */
            citations: components["schemas"]["Citation"][];
            /** @description The model that wrote it; none for sentences of the text itself. */
            model?: string | null;
            /** @description `localllm`, `cloudllm`, or `extractive` for sentences of the text itself. */
            provider: string;
            /** @description `success`. */
            status: string;
            /** @description The summary. Escape it before showing it as HTML. */
            summary: string;
        };
        /** @description The body of `POST /api/documents/summarize`. */
        SummaryBody: {
            /** @description The text. */
            content?: string | null;
            /** @description In its place: the id of an indexed document. */
            document_id?: string | null;
            /**
             * Format: int64
             * @description The longest summary in characters, 20 to 10000; 500 when absent.
             */
            max_length?: number | null;
            /** @description The role whose language model writes; the default role when absent. */
            role?: string | null;
        };
        /** @description The answer of `GET /api/thesaurus/{role}`. */
        ThesaurusAnswer: {
            /** @description The concepts asked for, in the order of their names. */
            concepts: components["schemas"]["DeclaredConcept"][];
            /** @description Why the role's thesaurus cannot be used. */
            error?: string | null;
            /** @description The role asked for. */
            role: string;
            /** @description Number of concepts, not only of those given. */
            total: number;
        };
    };
    responses: {
        /** @description The request failed; the problem says why. */
        Problem: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDocument"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    autocomplete: {
        parameters: {
            query: {
                /** @description The role; the default role when absent. */
                role?: string;
                /** @description What was typed so far. */
                q: string;
                /** @description Suggestions to give, 1 to 100; 8 when absent. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The likeliest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuggestionList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    chat: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatBody"];
            };
        };
        responses: {
            /** @description The answer; with `stream` as text/event-stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    show: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The role file, with its version as ETag. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description This server was started without a role file. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    replace: {
        parameters: {
            query?: never;
            header: {
                /** @description The ETag of the version that is replaced; * replaces any */
                "If-Match": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The role file in force now, without secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description The token of the configuration is missing. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A variable is new or has moved, or a location, program or server is new and lies outside of `allowed_roots`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Another version is in force, or the file was changed on disk. */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The file has mistakes: `errors` has each with its place. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description If-Match is missing. */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description JSON Schema 2020-12. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    conversations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    forget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A conversation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    search: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchBody"];
            };
        };
        responses: {
            /** @description The page asked for, best first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    summarize: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SummaryBody"];
            };
        };
        responses: {
            /** @description The summary. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SummaryAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    document: {
        parameters: {
            query?: {
                /** @description The role through which the document was found; any role when absent. */
                role?: string;
                /** @description Words to mark in the text. */
                q?: string;
                /** @description Whether to add the file's own text, with its markup: 1 MiB of it at most. */
                original?: boolean;
            };
            header?: never;
            path: {
                /** @description Id of a result */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text of the document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    graph: {
        parameters: {
            query?: {
                /** @description The role; the default role when absent. */
                role?: string;
                /** @description A concept whose neighbours and documents are asked for; an overview when absent. */
                concept?: string;
                /** @description The id of a document whose concepts and neighbours are asked for, instead of a concept. */
                document?: string;
                /** @description Neighbours or concepts to give, 1 to 500; 30 when absent. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Concepts, and what joins them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphAnswer"];
                };
            };
            /** @description No document holds the concept, or there is no such document. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    roles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All roles. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    reindex: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A role */
                role: string;
                /** @description One of its sources */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comparison begins; it may already be under way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReindexAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    skipped: {
        parameters: {
            query?: {
                /** @description Only this reason, as `GET /health` names it; all when absent. */
                reason?: string;
                /** @description The `next` of the page before. */
                after?: string;
                /** @description Paths to give, at most 1,000; 100 when absent. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description A role */
                role: string;
                /** @description One of its sources */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Files and folders by name; empty where everything is indexed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkippedAnswer"];
                };
            };
            /** @description There is no such role, or it has no such source. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    thesaurus: {
        parameters: {
            query?: {
                /** @description Concepts to pass over; 0 when absent. */
                skip?: number;
                /** @description Concepts to give, at most 10,000; 1,000 when absent. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description A role */
                role: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The role's thesaurus; empty where it names none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThesaurusAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state of every source. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    mcp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer, a JSON-RPC message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description A notification was taken. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A refusal, as a JSON-RPC message. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The client does not take JSON. */
            406: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
}
