// Of openapi/orchestrator.json, written by `npm run types`.

export interface paths {
    "/admin/actors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The actors, live: a tree of `{"name","state","children",…}`. */
        get: operations["actors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/actors/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The actors as they change: `event: tree` with the whole tree, at once and after each change. */
        get: operations["actor_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The agents: the routing table, and how each is. */
        get: operations["agents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/agents/{project}/{agent}/prompt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An agent's prompt, without running it. */
        get: operations["prompt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/calendar": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** When which agent starts by itself. */
        get: operations["calendar"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Checks the files as they are on disk; changes nothing. */
        post: operations["check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has the process that leads hand over to another one; agents end as at a restart. */
        post: operations["drain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The journal as it is written: `event: journal`, `id` the entry's number, data a `JournalEntry`. */
        get: operations["events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/journal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of the journal, oldest first. */
        get: operations["journal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/projects/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Holds a project's runs back; those under way go on. */
        post: operations["pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/projects/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets a project's runs go on. */
        post: operations["resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Checks the files, and puts them in force when they are right. */
        post: operations["reload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/route": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tries a text: which agents would run, why, and with which model. Nothing is stored or started. */
        post: operations["route"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of runs, newest first. */
        get: operations["runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A run. */
        get: operations["run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a run: at once when it waits, within its grace period when it runs. */
        post: operations["cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/runs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A run as it changes: `event: run` with a `RunView`, at once and after each change, and
         *     `event: end` after the last.
         */
        get: operations["run_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/runs/{id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a run's agent printed, secrets masked. Whole, what steers a terminal or is not seen is
         *     shown by its number; followed, the text is exact, with escapes of JSON for such characters.
         */
        get: operations["log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/runs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Repeats a run that has ended. */
        post: operations["retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything at one look. */
        get: operations["status"];
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
        /** How the orchestrator is; 200 as soon as it answers, without a token. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes in a signed delivery of the forge; the reply says what became of it, after it is durable. */
        post: operations["webhook"];
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
        /** @description A queued run. */
        AcceptedView: {
            /** @description The agent. */
            agent: string;
            /** @description The project. */
            project: string;
            /** @description Its id, to follow it by. */
            run: string;
        };
        /** @description `GET /admin/agents`. */
        AgentList: {
            /** @description By project and name. */
            agents: components["schemas"]["AgentView"][];
        };
        /** @description An agent. */
        AgentView: components["schemas"]["RouteRow"] & {
            /**
             * Format: int64
             * @description Most hundredths a month, where that is limited.
             */
            budget_cents?: number | null;
            /**
             * Format: int64
             * @description Most runs a month, where that is limited.
             */
            budget_runs?: number | null;
            /** @description One sentence. */
            description: string;
            /** @description That run's exit class. */
            last_class?: string | null;
            /** @description Its last ended run. */
            last_run?: string | null;
            /**
             * Format: int64
             * @description Cost this month, in hundredths.
             */
            month_cents: number;
            /**
             * Format: int64
             * @description Runs this month.
             */
            month_runs: number;
            /** @description When its schedule is due next. */
            next_due?: string | null;
            /** @description Whether it is in quarantine. */
            quarantined: boolean;
            /**
             * Format: int64
             * @description Its runs that wait.
             */
            queued: number;
            /**
             * Format: int64
             * @description Its runs with a process.
             */
            running: number;
        };
        /** @description The author of a comment. */
        AuthorPart: {
            /**
             * @description Account name.
             * @example alice
             */
            login: string;
        };
        /** @description What a pull request is to be merged into. */
        BasePart: {
            /** @description Branch. */
            ref: string;
            /** @description Its commit. */
            sha?: string | null;
        };
        /** @description `GET /admin/calendar`. */
        CalendarView: {
            /** @description The first moment that is looked at. */
            from: string;
            /** @description One for each agent with a schedule, by project and name. */
            schedules: components["schemas"]["ScheduleView"][];
            /** @description The last. */
            to: string;
        };
        /** @description The reply to a cancel. */
        CancelReply: {
            /** @description Whether this request did it; false when it had ended already. */
            cancelled: boolean;
            /** @description The run. */
            run: string;
            /** @description Its state now; a running process may need up to its grace period to end. */
            state: string;
        };
        /** @description `POST /admin/check`, `POST /admin/reload` and `--check --format json`. */
        CheckView: {
            /**
             * @description What is wrong and what is odd:
             *     `{"severity","file","line","col","message","help","key_path"}`.
             */
            diagnostics: Record<string, never>[];
            /** @description The routing table; empty when the configuration is wrong. */
            routes: components["schemas"]["RouteRow"][];
            /** @description Whether the configuration can be used. */
            valid: boolean;
        };
        /** @description A comment. */
        CommentPart: {
            /**
             * @description GitHub's word for the author's standing in the repository.
             * @example MEMBER
             */
            author_association?: string | null;
            /**
             * @description Its text, Markdown; `@orch:<agent>` in it asks for an agent.
             * @example @orch:reviewer please
             */
            body: string;
            /**
             * @description When, ISO 8601.
             * @example 2026-11-21T10:00:00Z
             */
            created_at?: string | null;
            /** @description Its address. */
            html_url?: string | null;
            /**
             * Format: int64
             * @description Unique on its forge.
             */
            id: number;
            /** @description Who wrote it. */
            user: components["schemas"]["AuthorPart"];
        };
        /** @description A commit of a push. */
        CommitPart: {
            /** @description New paths. */
            added?: string[] | null;
            /** @description Its name. */
            id: string;
            /** @description Its message. */
            message?: string | null;
            /** @description Changed paths. */
            modified?: string[] | null;
            /** @description Paths that are gone. */
            removed?: string[] | null;
        };
        /** @description How a run's process ended. */
        ExitView: {
            /** @description A word of [`crate::run::ExitClass`]. */
            class: string;
            /**
             * Format: int32
             * @description The status it returned.
             */
            code?: number | null;
            /**
             * Format: int64
             * @description What it cost, in hundredths.
             */
            cost_cents?: number | null;
            /** @description What decided the class. */
            detail?: string | null;
            /**
             * Format: int64
             * @description Bytes it printed.
             */
            output_bytes: number;
            /**
             * Format: int32
             * @description The signal that ended it.
             */
            signal?: number | null;
            /**
             * Format: int64
             * @description From start to end, in milliseconds.
             */
            wall_ms: number;
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
        /** @description What is to be merged. */
        HeadPart: {
            /** @description Branch. */
            ref: string;
            repo?: components["schemas"]["HeadRepositoryPart"] | null;
            /** @description Newest commit. */
            sha: string;
        };
        /** @description The repository of a pull request's branch. */
        HeadRepositoryPart: {
            /** @description Where it is cloned from. */
            clone_url?: string | null;
            /** @description `owner/repo` */
            full_name?: string | null;
        };
        /** @description A comment on an issue or a pull request was written, changed or deleted. */
        IssueCommentBody: {
            /**
             * @description `created`, `edited`, `deleted`; only the first starts anything.
             * @example created
             */
            action: string;
            /** @description The comment. */
            comment: components["schemas"]["CommentPart"];
            /** @description Whether the issue is a pull request, as Gitea and Forgejo say it. */
            is_pull?: boolean | null;
            /** @description What it is about. */
            issue: components["schemas"]["IssuePart"];
            /**
             * @description Whether somebody who holds the secret made it by hand, as `orchctl trigger` does: whose
             *     right to ask is then not the forge's to say.
             */
            orchctl?: boolean | null;
            /** @description Where. */
            repository: components["schemas"]["RepositoryPart"];
            sender?: components["schemas"]["UserPart"] | null;
        };
        /** @description An issue, or a pull request as an issue. */
        IssuePart: {
            /** @description Its description. */
            body?: string | null;
            /** @description Its address. */
            html_url?: string | null;
            /**
             * Format: int64
             * @description Its number; 0 for a trigger from the command line.
             */
            number: number;
            /** @description There when it is a pull request, as GitHub says it. */
            pull_request?: Record<string, never> | null;
            /**
             * @description `open` or `closed`.
             * @example open
             */
            state?: string | null;
            /** @description Its title. */
            title?: string | null;
        };
        /** @description One event of the journal. */
        JournalEntry: {
            /** @description The agent. */
            agent?: string | null;
            /** @description When. */
            at: string;
            /** @description One line. */
            detail: string;
            /** @description Its stable name, for example `agent.spawned`. */
            event: string;
            /** @description The project. */
            project?: string | null;
            /** @description The run it is about. */
            run?: string | null;
            /**
             * Format: int64
             * @description Its number, ascending.
             */
            seq: number;
        };
        /** @description `GET /admin/journal`. */
        JournalPage: {
            /** @description Oldest first. */
            entries: components["schemas"]["JournalEntry"][];
            /**
             * Format: int64
             * @description Number of the newest entry there is.
             */
            last?: number | null;
            /**
             * Format: int64
             * @description Give this as `after` for the next page.
             */
            next?: number | null;
        };
        /** @description How the orchestrator is. */
        OrchestratorHealth: {
            /** @description Why it is degraded. */
            reason?: string | null;
            /** @description Of a process that shares its store with others: `role`, `epoch`, `leader`, `led_by`. */
            replica?: Record<string, never> | null;
            /** @description `ok` or `degraded`. */
            status: string;
            /** @description The program's version. */
            version: string;
        };
        /** @description A webhook was set up. */
        PingBody: {
            /**
             * Format: int64
             * @description The hook's number.
             */
            hook_id?: number | null;
            /** @description GitHub's greeting. */
            zen: string;
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
        /** @description A project. */
        ProjectView: {
            /**
             * Format: int64
             * @description Agents it defines.
             */
            agents: number;
            /** @description Its id. */
            id: string;
            /** @description Whether it is paused. */
            paused: boolean;
            /** @description Its repository. */
            repository: string;
        };
        /** @description `GET /admin/agents/{project}/{agent}/prompt`. */
        PromptView: {
            /** @description The agent. */
            agent: string;
            /** @description The model the routing tables chose. */
            model?: string | null;
            /** @description The persona that was applied. */
            persona?: string | null;
            /** @description The project. */
            project: string;
            /** @description The prompt. */
            prompt: string;
            /** @description The skills that were put in. */
            skills: string[];
        };
        /** @description Something happened to a pull request. */
        PullRequestBody: {
            /**
             * @description `opened`, `reopened`, `synchronize`, `synchronized`, `ready_for_review`, `closed`, `edited`,
             *     …
             * @example opened
             */
            action: string;
            /**
             * Format: int64
             * @description Its number.
             */
            number: number;
            /** @description The pull request. */
            pull_request: components["schemas"]["PullRequestPart"];
            /** @description What it is to be merged into. */
            repository: components["schemas"]["RepositoryPart"];
            sender?: components["schemas"]["UserPart"] | null;
        };
        /** @description A pull request. */
        PullRequestPart: {
            base?: components["schemas"]["BasePart"] | null;
            /** @description Its description. */
            body?: string | null;
            /** @description Whether it is not ready. */
            draft?: boolean | null;
            head?: components["schemas"]["HeadPart"] | null;
            /** @description Its address. */
            html_url?: string | null;
            /** @description Whether it was merged. */
            merged?: boolean | null;
            /**
             * Format: int64
             * @description As beside it.
             */
            number?: number | null;
            /**
             * @description `open` or `closed`.
             * @example open
             */
            state?: string | null;
            /** @description Its title. */
            title?: string | null;
            user?: components["schemas"]["UserPart"] | null;
        };
        /** @description A branch or tag moved. */
        PushBody: {
            /** @description Where it is; 40 zeros when it was deleted. */
            after: string;
            /** @description Where it was; 40 zeros when it is new. */
            before: string;
            /** @description The commits that the forge lists, oldest first. */
            commits?: components["schemas"]["CommitPart"][] | null;
            /** @description Address of the comparison, as GitHub names it. */
            compare?: string | null;
            /** @description Address of the comparison, as Gitea and Forgejo name it. */
            compare_url?: string | null;
            /** @description Whether history was rewritten, as GitHub says it. */
            forced?: boolean | null;
            head_commit?: components["schemas"]["CommitPart"] | null;
            pusher?: components["schemas"]["UserPart"] | null;
            /**
             * @description Full name of the branch or tag.
             * @example refs/heads/main
             */
            ref: string;
            /** @description The repository. */
            repository: components["schemas"]["RepositoryPart"];
            sender?: components["schemas"]["UserPart"] | null;
            /**
             * Format: int64
             * @description How many there are, as Gitea and Forgejo say it.
             */
            total_commits?: number | null;
        };
        /** @description How many runs are in which state. */
        QueueView: {
            /**
             * Format: int64
             * @description Age of the oldest that waits, in seconds.
             */
            oldest_secs: number;
            /**
             * Format: int64
             * @description Waiting.
             */
            queued: number;
            /**
             * Format: int64
             * @description With a process.
             */
            running: number;
            /**
             * Format: int64
             * @description Being started.
             */
            starting: number;
        };
        /** @description A refused dispatch. */
        RejectedView: {
            /** @description The agent as named, with its project where one was written. */
            agent: string;
            /** @description One sentence for people: what to do about it. */
            detail: string;
            /** @description A word of [`crate::run::Reason`]. */
            reason: string;
        };
        /** @description A repository. */
        RepositoryPart: {
            /** @description Where it is cloned from. */
            clone_url?: string | null;
            /**
             * @description The branch others are merged into.
             * @example main
             */
            default_branch?: string | null;
            /**
             * @description `owner/repo`
             * @example acme/site
             */
            full_name: string;
            /** @description Its address. */
            html_url?: string | null;
        };
        /** @description The reply to a retry. */
        RetryReply: {
            /** @description The run that was repeated. */
            of: string;
            /** @description The new run. */
            run: string;
        };
        /**
         * @description Where a text would lead. Nothing was stored or started. Limits of one issue within an hour and
         *     what only the forge knows of an author are not looked at.
         */
        RouteAnswer: {
            /** @description The same for people. */
            detail?: string | null;
            /** @description Why nothing is asked for: a word of [`crate::intake::Ignored`]. */
            ignored?: string | null;
            /** @description What would be refused. */
            rejected: components["schemas"]["RejectedView"][];
            /** @description Runs that would be queued. */
            runs: components["schemas"]["RouteView"][];
        };
        /** @description `POST /admin/route`: a text as a comment would bring it. */
        RouteQuestion: {
            /** @description Who would write it; somebody on the orchestrator's command line unless said. */
            author?: string | null;
            /** @description The project whose repository it would stand in; the main project unless said. */
            project?: string | null;
            /**
             * @description The comment's text, with its mentions.
             * @example @orch:reviewer please look at the migration
             */
            text: string;
            /** @description The title of the issue, which the routing tables read as well. */
            title?: string | null;
        };
        /** @description One row of the routing table, as `--check` prints it. */
        RouteRow: {
            /** @description The agent. */
            agent: string;
            /** @description The adapter. */
            cli: string;
            /** @description The status context, for fan-out agents. */
            context?: string | null;
            /** @description Whether it may start. */
            enabled: boolean;
            /** @description Further projects it can be named in. */
            extra_projects: string[];
            /** @description `safety`, `core` or `growth`. */
            layer: string;
            /**
             * Format: int64
             * @description Wall-clock limit in seconds.
             */
            max_cpu_seconds: number;
            /**
             * Format: int32
             * @description Runs at a time.
             */
            max_parallel: number;
            /** @description The model. */
            model?: string | null;
            /** @description Whether it has a forge token of its own. */
            own_token: boolean;
            /** @description The persona. */
            persona?: string | null;
            /** @description The project. */
            project: string;
            /** @description The provider. */
            provider?: string | null;
            /** @description The cron expression with its time zone. */
            schedule?: string | null;
            /** @description `none`, `base` or `head`. */
            worktree: string;
        };
        /** @description A run that would be queued, and where it would go. */
        RouteView: {
            /** @description The agent. */
            agent: string;
            /** @description Whether the forge would be asked first whether the author may write. */
            asks_forge: boolean;
            /** @description The project that the agent is defined in. */
            home: string;
            /** @description The model. */
            model?: string | null;
            /** @description The project it would run in. */
            project: string;
            /** @description The provider. */
            provider?: string | null;
            /**
             * @description What decides over its model: `agent` (it names one), `table`, `default` (the program's own)
             *     or `none` (it needs no model).
             */
            rule: string;
            /** @description The routing table that decides. */
            table?: string | null;
        };
        /** @description `GET /admin/runs`. */
        RunList: {
            /** @description Give this as `before` for the next page. */
            next?: string | null;
            /** @description Newest first. */
            runs: components["schemas"]["RunView"][];
        };
        /** @description A run. */
        RunView: {
            /** @description The agent. */
            agent: string;
            /** @description Its branch. */
            branch?: string | null;
            /** @description The status it owes or has made. */
            context?: string | null;
            /** @description What to do about it. */
            detail?: string | null;
            /** @description Whether nothing follows. */
            ended: boolean;
            /** @description When it ended. */
            ended_at?: string | null;
            exit?: components["schemas"]["ExitView"] | null;
            /** @description Why it waits: a word of [`crate::run::Hold`]. */
            hold?: string | null;
            /** @description Its id. */
            id: string;
            /** @description How far the agent was kept apart: `sandbox`, `pid_namespace` or `none`. */
            isolation?: string | null;
            /**
             * Format: int64
             * @description The issue or pull request.
             */
            issue?: number | null;
            /**
             * Format: int32
             * @description Its process.
             */
            pid?: number | null;
            /** @description The project it runs in. */
            project: string;
            /** @description When it was accepted. */
            queued_at: string;
            /** @description Why it was refused or ended early: a word of [`crate::run::Reason`]. */
            reason?: string | null;
            /** @description The repository. */
            repository: string;
            /** @description The commit it is about. */
            sha?: string | null;
            /** @description When its process started. */
            started_at?: string | null;
            /** @description A word of [`crate::run::RunState`]. */
            state: string;
            /** @description For example `issue 7`, `pull request 12 at 0a1b2c3d4e5f`, `schedule 2026-11-21T…`. */
            subject: string;
            /** @description `mention`, `cli`, `pull_request` or `schedule`. */
            trigger: string;
            /** @description Its worktree. */
            worktree?: string | null;
        };
        /** @description A schedule and its next dates. */
        ScheduleView: {
            /** @description Whether it would start: the agent is enabled and its project not paused. */
            active: boolean;
            /** @description The agent. */
            agent: string;
            /** @description When it is due, oldest first. */
            due: string[];
            /** @description The cron expression as written. */
            expression: string;
            /** @description Whether there are more dates in this time than are listed. */
            more: boolean;
            /** @description The project. */
            project: string;
            /** @description The time zone it is read in. */
            time_zone: string;
        };
        /** @description A commit status that is owed. */
        StatusObligationView: {
            /** @description The context. */
            context: string;
            /** @description The repository. */
            repository: string;
            /** @description The run it belongs to. */
            run?: string | null;
            /** @description The commit. */
            sha: string;
            /** @description The state that is owed: `pending`, `success`, `failure`, `error`. */
            state: string;
        };
        /** @description `GET /admin/status`. */
        StatusView: {
            /** @description Providers whose circuit is not closed. */
            breakers: string[];
            /** @description When the configuration was read last. */
            configured_at: string;
            /** @description When the last tick ended. */
            last_tick_at?: string | null;
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             */
            last_tick_ms?: number | null;
            /** @description Id of the main project, which `orchctl trigger` means unless told otherwise. */
            main_project: string;
            /** @description Whether mentions are configured. */
            mentions: boolean;
            /** @description When the next one is due, if nothing wakes it. */
            next_tick_at?: string | null;
            /**
             * Format: int64
             * @description Posts to the forge that wait.
             */
            outbox: number;
            /**
             * Format: int64
             * @description Posts that were given up.
             */
            parked: number;
            /** @description Projects. */
            projects: components["schemas"]["ProjectView"][];
            /** @description Agents in quarantine, `project/agent`. */
            quarantined: string[];
            /** @description The queue. */
            queue: components["schemas"]["QueueView"];
            /** @description Runs with a process. */
            running: components["schemas"]["RunView"][];
            /** @description When it started. */
            started_at: string;
            /** @description Statuses that are owed and not yet with the forge. */
            statuses: components["schemas"]["StatusObligationView"][];
            /**
             * Format: int64
             * @description Seconds between two ticks.
             */
            tick_interval_secs: number;
            /**
             * Format: int64
             * @description How many ticks there were.
             */
            ticks: number;
            /** @description The program's version. */
            version: string;
            /** @description What is odd about the configuration. */
            warnings: string[];
        };
        /** @description An account. */
        UserPart: {
            /**
             * @description Account name.
             * @example alice
             */
            login?: string | null;
        };
        /**
         * @description A webhook's body as GitHub, Gitea and Forgejo send it, signed over its raw bytes. Only the
         *     fields that are read are listed; others are ignored, and so are other events when a header names
         *     them.
         */
        WebhookBody: components["schemas"]["IssueCommentBody"] | components["schemas"]["PullRequestBody"] | components["schemas"]["PushBody"] | components["schemas"]["PingBody"];
        /**
         * @description What became of a delivery as a whole.
         * @enum {string}
         */
        WebhookOutcome: "accepted" | "rejected" | "ignored" | "duplicate";
        /** @description The reply to `POST /webhook`: 202, or 200 for `ignored` and `duplicate`. */
        WebhookReply: {
            /** @description The delivery's id. */
            delivery: string;
            /** @description The same in one sentence for people. */
            detail?: string | null;
            /** @description Runs that were queued. */
            dispatches: components["schemas"]["AcceptedView"][];
            /** @description What became of it. */
            outcome: components["schemas"]["WebhookOutcome"];
            /**
             * @description Why nothing was asked for: a word of [`crate::intake::Ignored`]; with `ignored` and
             *     `duplicate`.
             */
            reason?: string | null;
            /** @description What was asked for and refused. */
            rejected: components["schemas"]["RejectedView"][];
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
    actors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The actors below the root supervisor. */
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
    actor_changes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-Sent Events, without an end. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": Record<string, never>;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    agents: {
        parameters: {
            query?: {
                /** @description Only agents of this project. */
                project?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    prompt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its project */
                project: string;
                /** @description Its name */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The prompt. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PromptView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    calendar: {
        parameters: {
            query?: {
                /** @description So many days from now on (7; at most 366). */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedules with their next dates, at most 200 of each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CalendarView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    check: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is wrong, or the routing table. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    drain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It hands over; another process leads within seconds. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The store is shared with no other process. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Nobody leads at the moment. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    events: {
        parameters: {
            query?: {
                /**
                 * @description Entries of the journal after this one, as the header `Last-Event-ID` says too; else what
                 *     comes from now on.
                 */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-Sent Events, without an end. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["JournalEntry"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    journal: {
        parameters: {
            query?: {
                /** @description Entries after this one: `next` of the former page. */
                after?: number;
                /** @description At most so many (200; at most 1000). */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What happened. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JournalPage"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The project. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The project. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    reload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In force. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckView"];
                };
            };
            /** @description Wrong; nothing was changed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    route: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RouteQuestion"];
            };
        };
        responses: {
            /** @description Where it would lead. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RouteAnswer"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    runs: {
        parameters: {
            query?: {
                /** @description Of this project. */
                project?: string;
                /** @description Of this agent. */
                agent?: string;
                /** @description `queued`, `starting`, `running`, `exited`, `cancelled` or `rejected`. */
                state?: string;
                /** @description At most so many (50; at most 500). */
                limit?: number;
                /** @description Older than this run: `next` of the former page. */
                before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What became of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelReply"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    run_events: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-Sent Events, until the run has ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["RunView"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    log: {
        parameters: {
            query?: {
                /** @description 1: as Server-Sent Events (`log`, `skipped`, `end`), until the run has ended. */
                follow?: number;
                /** @description Only the last so many lines of what is there. */
                tail?: number;
            };
            header?: never;
            path: {
                /** @description The run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The log, or events of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    retry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetryReply"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Queue, projects, runs under way, statuses owed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatusView"];
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
            /** @description How it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrchestratorHealth"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An event as Gitea, Forgejo or GitHub sends it, signed (`X-Hub-Signature-256`, or the forge's own header). */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookBody"];
            };
        };
        responses: {
            /** @description Ignored, or seen before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReply"];
                };
            };
            /** @description Stored; what was queued and what was refused. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReply"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
}
