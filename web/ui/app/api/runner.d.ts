// Of openapi/runner.json, written by `npm run types`.

export interface paths {
    "/admin/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has the process that leads hand over to another one. */
        post: operations["drain"];
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
        /** How the runner is; 200 as soon as it answers. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/repositories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The repositories that have pushed: what filters and a form to start workflows offer. */
        get: operations["repositories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest runs first. */
        get: operations["runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tells that runs began, went on or ended. */
        get: operations["all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/dispatch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Starts a workflow. Only where an API token is configured: whoever may start runs must be known. */
        post: operations["dispatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/kept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The VMs of failed jobs that are kept. */
        get: operations["kept"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One run. */
        get: operations["run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approves what a run waits for: a pull request from a fork, or environments. Only where an API
         *     token is configured: whoever may approve must be known.
         */
        post: operations["approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a run has stored. */
        get: operations["artifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/artifacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An artifact, as the tar it is stored as. */
        get: operations["artifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a run. */
        post: operations["cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tells that a run's record changed, or that its log grew. */
        get: operations["one"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The jobs of a run and what they need. */
        get: operations["graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/kept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The VMs of a run's failed jobs that are kept. */
        get: operations["kept_of_run"];
        put?: never;
        post?: never;
        /** Gives a kept VM back now. Only where an API token is configured. */
        delete: operations["release"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/last-green": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest run before this one of the same workflow and branch that succeeded. */
        get: operations["last_green"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A run's log: JSON Lines, or server-sent events with `follow=1`. */
        get: operations["log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/log/lines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Some lines of a log by their numbers. A step's lines are counted without the heading that names
         *     it and the ends of groups.
         */
        get: operations["lines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/log/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What there is in a run's log: its steps with the numbers of their lines; notices, warnings and
         *     errors.
         */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/log/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The lines of a log that hold a text. */
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/log/text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A run's log as plain text, to be kept as a file: without colours, and what is not seen stands
         *     there by its number.
         */
        get: operations["text"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rejects what a run waits for: jobs of the environments fail, a pull request from a fork is not
         *     run.
         */
        post: operations["reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Runs an ended run again: a new run of the same event and number, one attempt later. */
        post: operations["rerun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/shell": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A shell in the VM of a failed job that is kept, as a WebSocket: binary messages are what is
         *     typed and what is shown, text messages are JSON: `{"resize": {"columns": 80, "rows": 24}}` to
         *     it, `{"dropped": 4096}` and at last `{"ended": {"exit_code": 0, …}}` from it. Only where an API
         *     token is configured; the run's log says who has opened it.
         */
        get: operations["open"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/{id}/tests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tests of a run: those that failed first, with their messages and traces. */
        get: operations["of_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tests of a repository in its newest runs: flaky ones and those that failed most first. */
        get: operations["of_repository"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tests/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How one test ended, run by run, the newest first; one history of each job that has it. */
        get: operations["history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vm-hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The hosts of VMs. */
        get: operations["vm_hosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vm-hosts/{name}/cordon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * From now on a host takes no new jobs; those that have a VM there go on. It stays so over
         *     restarts. Only where an API token is configured.
         */
        post: operations["cordon_vm_host"];
        /** A host takes new jobs again. Only where an API token is configured. */
        delete: operations["uncordon_vm_host"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vm-hosts/{name}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cordons a host, and gives back the VMs of failed jobs that are kept there, but for those in
         *     which a shell is open. It is empty once `jobs` and `shells` are 0. Only where an API token is
         *     configured.
         */
        post: operations["drain_vm_host"];
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
        /** Takes a signed webhook of a forge. */
        post: operations["webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The workflows that `POST /runs/dispatch` may start, with their inputs, as the branch's newest
         *     commit has them.
         */
        get: operations["workflows"];
        put?: never;
        post?: never;
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
        /** @description What is known of an artifact. */
        Artifact: {
            /**
             * Format: int64
             * @description When it was stored, in milliseconds since the Unix epoch.
             */
            at: number;
            by?: components["schemas"]["ArtifactMaker"] | null;
            /**
             * Format: int64
             * @description Bytes of the tar.
             */
            bytes: number;
            /** @description As the workflow calls it. */
            name: string;
            /** @description The type of the one file in it, where that was uploaded as it is and not as a folder. */
            raw?: string | null;
        };
        /** @description The attempt of a job's copy that stores an artifact. */
        ArtifactMaker: {
            /** @description Which attempt: a later one replaces what an earlier one stored. */
            attempt: string;
            /** @description The job in the plan, and which copy. */
            job: string;
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
        /**
         * @description How a step, a job or a run ended, as expressions see it.
         * @enum {string}
         */
        Conclusion: "success" | "failure" | "cancelled" | "skipped";
        /** @description Since when a host takes no new jobs, and who wants it so. */
        Cordon: {
            /** @description Who has asked for it. */
            by: string;
            /**
             * Format: int64
             * @description In milliseconds since the Unix epoch.
             */
            since: number;
        };
        /** @description An input of a workflow that somebody starts. */
        DispatchInput: {
            /** @description Its value when it is not given, where that needs no expression. */
            default?: string | null;
            /** @description What it is for. */
            description?: string | null;
            /** @description `string`, `boolean`, `number`, `choice`, `environment`. */
            kind: string;
            /** @description Its name. */
            name: string;
            /** @description Of a choice: what may be chosen. */
            options?: string[];
            /** @description Whether it must be given. */
            required: boolean;
        };
        /** @description Which workflow to start. */
        DispatchRequest: {
            /** @description The branch; without it the default branch. */
            branch?: string | null;
            /** @description Its inputs, as text. */
            inputs?: {
                [key: string]: string;
            };
            /** @description VMs of jobs that fail are kept for a while, so that a shell can be opened in them. */
            keep?: boolean;
            /** @description `owner/repo`; it must have pushed before, so that it is known where it is. */
            repository: string;
            /** @description Snapshots are taken between their steps, to go back to; `keep` is part of it. */
            snapshots?: boolean;
            /** @description The workflow's file, for example `.github/workflows/deploy.yml`. */
            workflow: string;
        };
        /** @description The run that was started. */
        Dispatched: {
            /** @description Its id. */
            run: string;
        };
        /** @description A host that is drained. */
        Drained: components["schemas"]["VmHostView"] & {
            /** @description Kept VMs there in which a shell is open. */
            shells: number;
        };
        /** @description What stands before an environment that jobs of a run name. */
        EnvironmentGate: {
            /** @description Somebody has to approve. */
            for_approval: boolean;
            /** @description The environment. */
            name: string;
            review?: components["schemas"]["Review"] | null;
            /** @description Jobs have gone on, or never will. */
            settled?: boolean;
            /**
             * Format: int64
             * @description Since when jobs wait for it, in milliseconds since the Unix epoch.
             */
            since: number;
            /**
             * Format: int64
             * @description Until when at most: the wait ends, or the time for an approval.
             */
            until: number;
        };
        /**
         * @description The state of something in a VM: the answer of `GET /vms/{id}/exec/{eid}`, and the last line of
         *     a followed one. Without that line the connection broke: nothing is known, least of all success.
         */
        Exec: {
            /**
             * Format: int64
             * @description Bytes of output that were dropped because the log has a limit.
             */
            dropped_bytes?: number;
            /**
             * Format: int32
             * @description The exit code, where there is one; never made up.
             */
            exit_code?: number | null;
            /** @description What is known of something lost. */
            reason?: string | null;
            /**
             * Format: int32
             * @description The signal, where one ended it.
             */
            signal?: number | null;
            /** @description Where it is. */
            state: components["schemas"]["ExecState"];
        };
        /**
         * @description The state of something in a VM, as the API shows it.
         * @enum {string}
         */
        ExecState: "running" | "exited" | "timed_out" | "killed" | "lost" | "not_started";
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
        /** @description A copy of a job of the graph. */
        GraphCopy: {
            /**
             * Format: int64
             * @description When it ended.
             */
            ended_at?: number | null;
            /** @description Its place among the run's jobs. */
            index: number;
            /** @description The run in which it ran, where this one took it over. */
            kept_from?: string | null;
            /** @description Its name for people. */
            name: string;
            /**
             * Format: int64
             * @description When it had its machine.
             */
            started_at?: number | null;
            /** @description How far it is. */
            state: components["schemas"]["GraphState"];
        };
        /** @description A job of the graph. */
        GraphJob: components["schemas"]["PlannedJobRecord"] & {
            /** @description Its copies, as far as they were begun or left out. */
            copies: components["schemas"]["GraphCopy"][];
            /** @description How far it is: the most urgent of its copies. */
            state: components["schemas"]["GraphState"];
        };
        /**
         * @description How far a job is.
         * @enum {string}
         */
        GraphState: "skipped" | "success" | "cancelled" | "failure" | "waiting" | "running";
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
        /**
         * @description Ends that are told apart in a run's state.
         * @enum {string}
         */
        JobEnd: "usual" | "timed_out" | "lost";
        /** @description The environment of a job. */
        JobEnvironmentRecord: {
            /** @description Whether the job deploys to it. */
            deployment: boolean;
            /** @description Its name. */
            name: string;
            /** @description Where people find what was deployed: `http` or `https`. */
            url?: string | null;
        };
        /** @description The jobs of a run as a graph. */
        JobGraph: {
            /**
             * @description Whether it is known what needs what: not before the run is planned, and not of runs of
             *     former versions.
             */
            complete: boolean;
            /** @description In the order of the workflow's file; those that call others stand before what they call. */
            jobs: components["schemas"]["GraphJob"][];
        };
        /** @description One copy of a job. */
        JobRecord: {
            conclusion?: components["schemas"]["Conclusion"] | null;
            /** @description The context of its commit status. */
            context: string;
            /** @description What the conclusion does not say of its end. */
            end?: components["schemas"]["JobEnd"];
            /**
             * Format: int64
             * @description When it ended.
             */
            ended_at?: number | null;
            environment?: components["schemas"]["JobEnvironmentRecord"] | null;
            /** @description Which copy, from 0. */
            instance: number;
            /** @description How well the VM is separated from the host. */
            isolation?: string | null;
            /** @description The run in which it ran, where this one runs only again what had failed. */
            kept_from?: string | null;
            /** @description The job in the plan: `build`, `call/build`. */
            key: string;
            /** @description Attempts that were lost, after each of which it ran again. */
            lost?: components["schemas"]["LostAttempt"][];
            /** @description Its name for people. */
            name: string;
            /** @description What it gives to jobs that need it. */
            outputs?: [
                string,
                string
            ][];
            /**
             * Format: int64
             * @description When it was asked for.
             */
            queued_at: number;
            /** @description Why, or what it waits for. */
            reason?: string | null;
            /**
             * Format: int32
             * @description How often it runs again by itself when it is lost.
             */
            reruns?: number;
            /**
             * Format: int64
             * @description When it had its machine.
             */
            started_at?: number | null;
            /** @description Its steps so far. */
            steps: components["schemas"]["StepRecord"][];
            /** @description What the runner says of the job as a whole, Markdown: its tests. */
            summary?: string | null;
            tests?: components["schemas"]["TestCounts"] | null;
            /** @description Its VM. */
            vm?: string | null;
            /** @description The VM's host; records of former versions name none. */
            vm_host?: string | null;
        };
        /** @description A snapshot of a kept VM, for people. */
        KeptSnapshotView: {
            /**
             * Format: int64
             * @description Bytes that it takes on the host's disk.
             */
            bytes: number;
            /** @description Its name. */
            name: string;
            /**
             * Format: int32
             * @description The step that came next, by its number.
             */
            step: number;
        };
        /** @description A kept VM, for people. */
        KeptVmView: {
            /**
             * Format: int32
             * @description The step before which it is, since somebody has gone back.
             */
            at_step?: number | null;
            /** @description Which copy of it, from 0. */
            instance: number;
            /** @description The job's name. */
            job: string;
            /** @description The job in the plan. */
            key: string;
            /**
             * Format: int64
             * @description Milliseconds from now until then.
             */
            left_ms: number;
            /**
             * Format: int64
             * @description Its memory in MiB.
             */
            memory_mib: number;
            /** @description It stands still, and is resumed when a shell is opened. */
            paused: boolean;
            /** @description The run. */
            run: string;
            /** @description Shells that are open. */
            shells: number;
            /**
             * Format: int64
             * @description Since when, in milliseconds since the Unix epoch.
             */
            since: number;
            /** @description The steps before which it can be again, in their order. */
            snapshots: components["schemas"]["KeptSnapshotView"][];
            /**
             * Format: int64
             * @description Until when it is kept, the same.
             */
            until: number;
            /** @description The VM's id. */
            vm: string;
        };
        /**
         * @description Kinds of lines.
         * @enum {string}
         */
        LineKind: "info" | "out" | "err" | "group" | "endgroup" | "notice" | "warning" | "error";
        /** @description One line of a run's log. */
        LogLine: {
            /**
             * Format: int64
             * @description Milliseconds since the Unix epoch.
             */
            at: number;
            /** @description The job's name, empty for the run itself. */
            job?: string;
            /** @description What kind of line it is. */
            kind: components["schemas"]["LineKind"];
            /**
             * Format: int32
             * @description The step's number from 1; 0 outside of steps.
             */
            step?: number;
            /** @description Its text, masked; never with a line end. */
            text: string;
        };
        /** @description A line that holds the text that was looked for. */
        LogMatch: {
            /** @description The job's name. */
            job: string;
            /** @description Which line of the step, from 1. */
            line: number;
            /**
             * Format: int32
             * @description The step's number.
             */
            step: number;
        };
        /** @description Where a text was found. */
        LogMatches: {
            /** @description The lines that hold it, in the order of the log. */
            matches: components["schemas"]["LogMatch"][];
            /** @description There are more than were asked for. */
            more: boolean;
        };
        /** @description A notice, warning or error. */
        LogNote: {
            /** @description The job's name. */
            job: string;
            /** @description What it is. */
            kind: components["schemas"]["LineKind"];
            /** @description Which line of the step, from 1. */
            line: number;
            /**
             * Format: int32
             * @description The step's number.
             */
            step: number;
            /** @description Its text, cut after 1,000 bytes. */
            text: string;
        };
        /** @description What there is in a log. */
        LogOverview: {
            /**
             * Format: int64
             * @description Bytes of whole lines in the file: a follower goes on from here.
             */
            bytes: number;
            /** @description Lines in all. */
            lines: number;
            /** @description Notices, warnings and errors, the first 1,000. */
            notes: components["schemas"]["LogNote"][];
            /** @description By step, in the order in which they began to write. */
            sections: components["schemas"]["LogSection"][];
        };
        /** @description Some lines of a log. */
        LogRange: {
            /** @description The lines; fewer than were asked for at the end, or where they are very long. */
            lines: components["schemas"]["NumberedLine"][];
            /** @description How many lines there are. */
            total: number;
        };
        /** @description What one step wrote, or a job outside of its steps, or the run itself. */
        LogSection: {
            /**
             * Format: int32
             * @description Errors among them.
             */
            errors: number;
            /** @description The job's name; empty for the run itself. */
            job: string;
            /** @description Its lines, without the heading that names the step and the ends of groups. */
            lines: number;
            /**
             * Format: int32
             * @description Notices among them.
             */
            notices: number;
            /**
             * Format: int32
             * @description The step's number from 1; 0 outside of steps.
             */
            step: number;
            /**
             * Format: int32
             * @description Warnings among them.
             */
            warnings: number;
        };
        /** @description An attempt of a job that was lost: its machine, the manager or the runner went away. */
        LostAttempt: {
            /**
             * Format: int64
             * @description When that was known.
             */
            ended_at: number;
            /** @description What went away. */
            reason: string;
            /**
             * Format: int64
             * @description When it had its machine.
             */
            started_at?: number | null;
            /** @description The step that it was at, where one had begun. */
            step?: string | null;
            /** @description Its VM. */
            vm?: string | null;
        };
        /** @description A line of a log. */
        NumberedLine: components["schemas"]["LogLine"] & {
            /** @description Which line of what was asked for, from 1. */
            n: number;
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
        /** @description A planned job, as a run's record keeps it. */
        PlannedJobRecord: {
            /** @description The job that calls its workflow. */
            caller?: string | null;
            /** @description The file of the workflow it calls: it has no steps of its own. */
            calls?: string | null;
            /** @description Unique in the run: `build`, or `call/build` in a called workflow. */
            key: string;
            /** @description It has several copies, one for each combination of its matrix. */
            matrix?: boolean;
            /** @description Its name as written, without what its matrix or its caller adds. */
            name: string;
            /** @description The keys of the jobs it needs. */
            needs?: string[];
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
        /** @description A file that was read. */
        ReadReport: {
            /** @description What kind of file it is. */
            format: components["schemas"]["ReportFormat"];
            /** @description From the workspace. */
            path: string;
            /**
             * Format: int32
             * @description How many tests it names.
             */
            tests: number;
        };
        /**
         * @description What kind of file a report is.
         * @enum {string}
         */
        ReportFormat: "junit" | "tap" | "test2json";
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
        /** @description Where a job of a re-run begins: in the VM that an earlier attempt left, before one of its steps. */
        ResumePoint: {
            /** @description Which copy of it, from 0. */
            instance: number;
            /** @description The job in the plan. */
            key: string;
            /** @description The run whose VM is kept. */
            run: string;
            /**
             * Format: int32
             * @description The step that comes first, by its number.
             */
            step: number;
        };
        /** @description An approval or its opposite. */
        Review: {
            /**
             * Format: int64
             * @description When, in milliseconds since the Unix epoch.
             */
            at: number;
            /** @description By whom, as they named themselves: whoever has the API token may. */
            by?: string | null;
            /** @description Why. */
            comment?: string | null;
            /** @description What was said. */
            verdict: components["schemas"]["Verdict"];
        };
        /** @description What is said. All of it may be left out, as may the body. */
        ReviewRequest: {
            /** @description Who says it, for the record: whoever has the API token may, whatever name they give. */
            by?: string | null;
            /** @description Why, for the record. */
            comment?: string | null;
            /** @description Only these environments; without any all that the run waits for. */
            environments?: string[];
        };
        /** @description What was taken. */
        Reviewed: {
            /** @description Of which environments; none: of the run as a whole, a pull request from a fork. */
            environments: string[];
            /** @description What was said. */
            verdict: components["schemas"]["Verdict"];
        };
        /** @description A pull request from a fork asks for an approval. */
        RunApproval: {
            /**
             * Format: int64
             * @description Since when, in milliseconds since the Unix epoch.
             */
            asked_at: number;
            review?: components["schemas"]["Review"] | null;
        };
        /** @description One run. */
        RunRecord: {
            /** @description Of pull requests: `opened`, … */
            action?: string | null;
            /** @description Who caused it. */
            actor: string;
            approval?: components["schemas"]["RunApproval"] | null;
            /**
             * Format: int64
             * @description Which attempt of this number it is, from 1: each re-run is one more.
             */
            attempt: number;
            /** @description Somebody has cancelled it: after a restart nothing of it goes on. */
            cancelled?: boolean;
            /**
             * Format: int64
             * @description Milliseconds since the Unix epoch, as the other times.
             */
            created_at: number;
            /** @description The delivery it came with. */
            delivery: string;
            /**
             * Format: int64
             * @description When it ended.
             */
            ended_at?: number | null;
            /** @description Environments that its jobs wait or have waited for. */
            environments?: components["schemas"]["EnvironmentGate"][];
            /** @description `push`, `pull_request`, `workflow_dispatch`, `schedule`. */
            event: string;
            /** @description It holds its concurrency group while it waits. */
            holds_group?: boolean;
            /** @description Its id; later ones sort behind earlier ones. */
            id: string;
            /** @description Keys of the planned jobs in the order of the workflow's file, once they are known. */
            job_order?: string[];
            /** @description Its jobs' copies, in the order they began or were left out. */
            jobs: components["schemas"]["JobRecord"][];
            /** @description VMs of its jobs that fail are kept for a while. */
            keep?: boolean;
            /** @description The run's name, once it is known. */
            name?: string | null;
            /**
             * Format: int64
             * @description Which run of this workflow it is, from 1; 0 until that is known.
             */
            number: number;
            /** @description Only this job and those it needs, when that was asked for. */
            only_job?: string | null;
            /** @description The planned jobs and what they need, once they are known. */
            plan?: components["schemas"]["PlannedJobRecord"][];
            /** @description Why it ended as it did, or what it waits for. */
            reason?: string | null;
            /** @description The full reference. */
            reference: string;
            /** @description The run that repeats it. */
            repeated_by?: string | null;
            /** @description The run it repeats. */
            repeats?: string | null;
            /** @description `owner/repo`. */
            repository: string;
            /** @description The repository's page, as its forge sent it. */
            repository_url?: string | null;
            resume?: components["schemas"]["ResumePoint"] | null;
            /** @description The commit. */
            sha: string;
            /** @description Snapshots are taken between the steps of its jobs, to go back to when one fails. */
            snapshots?: boolean;
            /**
             * Format: int64
             * @description When its first job began.
             */
            started_at?: number | null;
            /** @description Where it is. */
            state: components["schemas"]["RunState"];
            /**
             * Format: int64
             * @description How often the runner took it up again, after a restart or a wait.
             */
            taken_up?: number;
            /**
             * Format: int64
             * @description The same when it last waited: restarts before do not count against it.
             */
            taken_up_at_wait?: number;
            /** @description The workflow's file, once it is known. */
            workflow_file?: string | null;
        };
        /**
         * @description Where a run is.
         * @enum {string}
         */
        RunState: "received" | "parsing" | "planned" | "waiting" | "allocating" | "running" | "succeeded" | "failed" | "cancelled" | "timed_out" | "lost" | "refused" | "ignored";
        /** @description A test of a run. */
        RunTest: components["schemas"]["TestCase"] & {
            /**
             * @description It both passed and failed on the run's commit: in the reports of this run, or of another one
             *     of the same job.
             */
            flaky_on_commit: boolean;
            /** @description The job's name. */
            job: string;
        };
        /** @description The tests of a run. */
        RunTests: {
            /** @description How many ended how, over all jobs. */
            counts: components["schemas"]["TestCounts"];
            /** @description The copies of jobs that have tests, in the order of the run. */
            jobs: components["schemas"]["TestedJob"][];
            /** @description The tests that were asked for: those that failed first. */
            tests: components["schemas"]["RunTest"][];
        };
        /** @description How the runner is. */
        RunnerHealth: {
            /** @description Why it is degraded. */
            reason?: string | null;
            /** @description Of a process that shares its store with others: `role`, `epoch`, `leader`, `led_by`. */
            replica?: Record<string, never> | null;
            /** @description `ok` or `degraded`. */
            status: string;
            /** @description The program's version. */
            version: string;
        };
        /** @description A repository that has pushed. */
        SeenRepository: {
            /** @description Branches that were pushed, the last one first. */
            branches: string[];
            /** @description Its default branch. */
            default_branch?: string | null;
            /** @description `owner/repo`. */
            repository: string;
            /** @description Its page. */
            url?: string | null;
        };
        /** @description A workflow that says `workflow_dispatch`. */
        StartableWorkflow: {
            /** @description Its file. */
            file: string;
            /** @description What it asks for. */
            inputs: components["schemas"]["DispatchInput"][];
            /** @description Its name. */
            name: string;
        };
        /** @description What somebody may start on a branch. */
        StartableWorkflows: {
            /** @description The branch. */
            branch: string;
            /** @description Its newest commit. */
            sha: string;
            /** @description The workflows that say `workflow_dispatch`. */
            workflows: components["schemas"]["StartableWorkflow"][];
            /** @description Workflow files that cannot be read, and why. */
            wrong: string[];
        };
        /** @description How the process of a step ended: an exit code is never guessed. */
        StepEnd: {
            /**
             * Format: int32
             * @description It exited with this code.
             */
            code: number;
            /** @enum {string} */
            ended: "exited";
        } | {
            /**
             * Format: int32
             * @description A signal ended it.
             */
            code: number;
            /** @enum {string} */
            ended: "signalled";
        } | {
            /** @enum {string} */
            ended: "timed_out";
        } | {
            /** @enum {string} */
            ended: "cancelled";
        } | {
            /** @enum {string} */
            ended: "lost";
        } | {
            /** @enum {string} */
            ended: "error";
        } | {
            /** @enum {string} */
            ended: "skipped";
        };
        /** @description One step. */
        StepRecord: {
            end?: components["schemas"]["StepEnd"] | null;
            /**
             * Format: int64
             * @description When it ended.
             */
            ended_at?: number | null;
            /** @description It failed, and the job went on as if it had not (`continue-on-error`). */
            forgiven?: boolean;
            /** @description Its name, masked. */
            name: string;
            /**
             * Format: int32
             * @description From 1.
             */
            number: number;
            /** @description What is to be said about the end. */
            reason?: string | null;
            /**
             * Format: int64
             * @description When it began.
             */
            started_at: number;
            /** @description What it wrote to its summary, Markdown. */
            summary?: string | null;
        };
        /** @description What the side of the command says beside its output. */
        TerminalEvent: {
            /**
             * Format: int64
             * @description So many bytes of output were not taken in time, and are gone.
             */
            dropped: number;
        } | {
            /** @description It has ended; nothing follows. */
            ended: components["schemas"]["Exec"];
        };
        /** @description One test. */
        TestCase: {
            /**
             * Format: int64
             * @description How long it took, in milliseconds, where the report says so.
             */
            duration_ms?: number | null;
            failure?: components["schemas"]["TestFailure"] | null;
            /** @description The file, from the workspace, where it is known. */
            file?: string | null;
            /** @description The job's reports say both of it: that it passed and that it failed. */
            flaky?: boolean;
            /**
             * Format: int32
             * @description The line in it, from 1.
             */
            line?: number | null;
            /** @description Its name in there. */
            name: string;
            /** @description How it ended; of several attempts the last, of several tests of one name the worst. */
            outcome: components["schemas"]["TestOutcome"];
            /** @description Why it is in quarantine. */
            quarantine?: string | null;
            /** @description Why it was skipped. */
            reason?: string | null;
            /** @description What it belongs to: a class, a package, a program, or suites with ` > ` between. */
            suite: string;
        };
        /** @description How many tests of a job ended how. */
        TestCounts: {
            /**
             * Format: int64
             * @description The sum of their times, in milliseconds.
             */
            duration_ms?: number;
            /**
             * Format: int32
             * @description Those that failed, with an error too, in quarantine or not.
             */
            failed: number;
            /**
             * Format: int32
             * @description Those of which the job's reports say both, that they passed and that they failed.
             */
            flaky?: number;
            /**
             * Format: int32
             * @description Those that passed.
             */
            passed: number;
            /**
             * Format: int32
             * @description How many of the failed are in quarantine.
             */
            quarantined?: number;
            /**
             * Format: int32
             * @description Those that were skipped.
             */
            skipped: number;
            /**
             * Format: int32
             * @description All of them.
             */
            total: number;
        };
        /** @description How a test failed; each text is cut to its bound. */
        TestFailure: {
            /** @description The trace, or what the test runner says beside the message. */
            detail?: string;
            /** @description One line, or a few. */
            message: string;
            /** @description The end of what the test printed. */
            output?: string;
        };
        /** @description A test of a job in the runs that are kept. */
        TestHistory: {
            /** @description The job's name. */
            job: string;
            /** @description Its name. */
            name: string;
            /** @description The newest first. */
            runs: components["schemas"]["TestRun"][];
            /** @description What it belongs to. */
            suite: string;
            /** @description The workflow's file. */
            workflow: string;
        };
        /**
         * @description How a test ended.
         * @enum {string}
         */
        TestOutcome: "passed" | "skipped" | "failed" | "error";
        /** @description A test in one run. */
        TestRun: {
            /**
             * Format: int64
             * @description When the job ended, in milliseconds since the Unix epoch.
             */
            at: number;
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             */
            duration_ms?: number | null;
            /** @description The run's own reports say both of it. */
            flaky?: boolean;
            /** @description How the test ended. */
            outcome: components["schemas"]["TestOutcome"];
            /** @description It was in quarantine. */
            quarantined?: boolean;
            /** @description The full reference. */
            reference: string;
            /** @description The run's id. */
            run: string;
            /** @description The commit. */
            sha: string;
        };
        /** @description The same in numbers. */
        TestSummary: {
            /**
             * Format: int32
             * @description In how many it failed.
             */
            failed: number;
            /** @description Commits on which it both passed and failed, the newest first. */
            flaky_on: string[];
            /** @description The job's name. */
            job: string;
            /** @description The newest run. */
            last: components["schemas"]["TestRun"];
            last_failure?: components["schemas"]["TestRun"] | null;
            /**
             * Format: int64
             * @description The longest.
             */
            longest_ms?: number | null;
            /**
             * Format: int64
             * @description Its time in the runs that say so, in milliseconds: the mean and the longest.
             */
            mean_ms?: number | null;
            /** @description Its name. */
            name: string;
            /**
             * Format: int32
             * @description In how many it passed.
             */
            passed: number;
            /** @description Whether it is in quarantine in the newest run. */
            quarantined: boolean;
            /**
             * Format: int32
             * @description In how many runs it was.
             */
            runs: number;
            /**
             * Format: int32
             * @description In how many it was skipped.
             */
            skipped: number;
            /** @description What it belongs to. */
            suite: string;
            /** @description The workflow's file. */
            workflow: string;
        };
        /** @description A copy of a job that has tests. */
        TestedJob: {
            /** @description Nothing of the files was cut short or left out. */
            complete: boolean;
            /** @description How many of its tests ended how. */
            counts: components["schemas"]["TestCounts"];
            /** @description Its name. */
            name: string;
            /** @description What is to be said of the files. */
            notes: string[];
            /** @description The files they come from. */
            reports: components["schemas"]["ReadReport"][];
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
         * @description What was said to a run or an environment that waits.
         * @enum {string}
         */
        Verdict: "approved" | "rejected";
        /** @description What a host last said of itself. */
        VmHostFacts: {
            /** @description What runs them. */
            driver: string;
            /**
             * Format: int64
             * @description Free memory in MiB.
             */
            free_mem_mib?: number | null;
            /**
             * Format: int32
             * @description VMs that may be started; absent when its manager does not say.
             */
            free_vms?: number | null;
            /** @description Names and digests of its images. */
            images: string[];
            /** @description What separates its VMs from it: `namespace-sandbox`, `emulated-vm`, `hardware-vm`. */
            isolation: string;
            /**
             * Format: int64
             * @description Memory of all VMs together in MiB.
             */
            mem_mib?: number | null;
            /** @description Its manager's version. */
            version: string;
        };
        /** @description A host whose VM manager jobs get their VMs from. */
        VmHostView: {
            cordon?: components["schemas"]["Cordon"] | null;
            facts?: components["schemas"]["VmHostFacts"] | null;
            /** @description Jobs of this runner that have a VM there, or ask for one. */
            jobs: number;
            /** @description What machines can ask for. */
            labels: string[];
            /** @description Its name. */
            name: string;
            /** @description Why it gives no VMs. */
            trouble?: string | null;
            /** @description The address of its VM manager. */
            url: string;
        };
        /** @description What became of a webhook. */
        WebhookAnswer: {
            /** @description The delivery's id. */
            delivery: string;
            /** @description Why it was ignored. */
            reason?: string | null;
            /** @description The run it started, now or when it came first. */
            run?: string | null;
            /** @description `accepted`, `duplicate` or `ignored`. */
            status: string;
        };
        /**
         * @description A webhook's body as GitHub, Gitea and Forgejo send it, signed over its raw bytes. Only the
         *     fields that are read are listed; others are ignored, and so are other events when a header names
         *     them.
         */
        WebhookBody: components["schemas"]["IssueCommentBody"] | components["schemas"]["PullRequestBody"] | components["schemas"]["PushBody"] | components["schemas"]["PingBody"];
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
    drain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It hands over: its jobs end as at a restart, another process leads within seconds */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The store is shared with no other process */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Nobody leads at the moment */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description It answers: how it is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerHealth"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    repositories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeenRepository"][];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    runs: {
        parameters: {
            query?: {
                /** @description Of this repository only (`owner/repo`). */
                repository?: string;
                /** @description At most so many (default 50, at most 1,000). */
                limit?: number;
                /** @description `true`: the events that started nothing, with the reasons, in place of the runs. */
                ignored?: boolean;
                /** @description Of this branch or tag; of a pull request: `pull/7`. */
                branch?: string;
                /** @description In one of these states, with commas between; `active` stands for all that have not ended. */
                state?: string;
                /** @description Started by `push`, `pull_request`, `workflow_dispatch` or `schedule`. */
                event?: string;
                /** @description Caused by this person. */
                actor?: string;
                /** @description Of this workflow: its file, or the last part of its path. */
                workflow?: string;
                /**
                 * @description With this text in the name, workflow, repository, branch, actor or reason, or a commit or id
                 *     that begins so.
                 */
                text?: string;
                /** @description From the place that the `Link` of the page before names. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Run records, newest first; with `Link: <?…>; rel="next"` where there may be more. A page may be short and not the last */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunRecord"][];
                };
            };
            /** @description A filter that is none */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: `changed` whenever runs have changed, at most four times a second */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    dispatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DispatchRequest"];
            };
        };
        responses: {
            /** @description Stored; the run starts, and says so if the workflow takes no dispatch or other inputs */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Dispatched"];
                };
            };
            /** @description Not such a request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The token is missing or wrong */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The repository or branch is not known */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The store takes no writes */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    kept: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, the oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeptVmView"][];
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
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run's record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunRecord"];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    approve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        /** @description May be left out */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewRequest"];
            };
        };
        responses: {
            /** @description Stored; the run goes on when nothing else keeps it */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reviewed"];
                };
            };
            /** @description Not such a request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The token is missing or wrong */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It waits for no approval, or for none of this environment */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    artifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"][];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
                /** @description The artifact's name */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A tar */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": unknown;
                };
            };
            /** @description No such run or artifact */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It will end */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It has ended already */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    one: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: `record` when the run's record has changed, `log` with its bytes when its log has grown, each at most four times a second; `end` when it has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The jobs, and which need which */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobGraph"];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    kept_of_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Those that are kept now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeptVmView"][];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    release: {
        parameters: {
            query?: {
                /** @description The job's name or key; the only one that is kept without it. */
                job?: string;
                /** @description Who asks, for the run's log. */
                by?: string;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is given back */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description None is kept */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Several are kept, and none is named */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    last_green: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description That run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunRecord"];
                };
            };
            /** @description No such run, or none before it succeeded */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    log: {
        parameters: {
            query?: {
                /** @description `1`: as server-sent events, until the run has ended. */
                follow?: number;
                /** @description Followed: from this byte on. A client that comes again says so with `Last-Event-ID`. */
                from?: number;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A JSON object a line; followed: an event a line, its id the bytes so far, `changed` when the run's record did, then the event `end` with the run's state */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    lines: {
        parameters: {
            query?: {
                /**
                 * @description The lines of this job, as the log names it; empty: of the run itself. Without it: all lines
                 *     of the log in their order.
                 */
                job?: string;
                /** @description Of this step of the job, from 1; 0: outside of its steps. */
                step?: number;
                /** @description The first line, from 1. */
                from?: number;
                /** @description At most so many (default 500, at most 5,000). */
                lines?: number;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogRange"];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    overview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is in it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogOverview"];
                };
            };
            /** @description No such run */
            404: {
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
            query: {
                /** @description The text, in upper or lower case. */
                q: string;
                /** @description Only in this job. */
                job?: string;
                /** @description Only in this step of the job. */
                step?: number;
                /** @description At most so many lines (default 1,000, at most 10,000). */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where it stands */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogMatches"];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A text that cannot be looked for */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    text: {
        parameters: {
            query?: {
                /** @description Only this job. */
                job?: string;
                /** @description Only this step of the job. */
                step?: number;
                /** @description `true`: each line begins with its time. */
                timestamps?: boolean;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    reject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        /** @description May be left out */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewRequest"];
            };
        };
        responses: {
            /** @description Stored */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reviewed"];
                };
            };
            /** @description Not such a request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The token is missing or wrong */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It waits for no approval, or for none of this environment */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    rerun: {
        parameters: {
            query?: {
                /**
                 * @description `true`: only the jobs that did not succeed, and what needs them. The others keep their ends,
                 *     outputs and artifacts.
                 */
                failed?: boolean;
                /** @description `true`: VMs of jobs that fail are kept for a while, so that a shell can be opened in them. */
                keep?: boolean;
                /**
                 * @description `true`: snapshots are taken between the steps of its jobs, so that a shell or a re-run can
                 *     begin before a step; VMs of jobs that fail are kept.
                 */
                snapshots?: boolean;
                /**
                 * @description The number of the step before which a failed job begins, in the VM that is kept of it;
                 *     nothing before is done again. The other jobs that failed begin at their first steps.
                 */
                from_step?: number;
                /** @description With `from_step`: the job's name or key; the only one that is kept without it. */
                job?: string;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Stored; the new run starts */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Dispatched"];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It has not ended, or its newest attempt has not; or no job failed, where only those are to run; or no VM is kept that could go back to before that step */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    open: {
        parameters: {
            query?: {
                /** @description The job's name or key; the only one that is kept without it. */
                job?: string;
                /** @description As it was before this step, by its number: what was done in the VM since is lost. */
                before_step?: number;
                /** @description Columns of the terminal; 80 without it. */
                columns?: number;
                /** @description Rows of the terminal; 24 without it. */
                rows?: number;
                /** @description Who opens it, for the run's log: whoever has the API token may, whatever name they give. */
                by?: string;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Messages both ways */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TerminalEvent"];
                };
            };
            /** @description No WebSocket */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No VM of this job is kept */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Several are kept and none is named, or it is gone */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description As many shells as may be are open */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    of_run: {
        parameters: {
            query?: {
                /** @description `failed`, `passed`, `skipped`, `flaky` or `quarantined`. */
                kind?: string;
                /** @description Of the job of this name. */
                job?: string;
                /** @description With this text in the suite or the name. */
                text?: string;
                /** @description `slowest`: those that took longest first; else those that failed first. */
                sort?: string;
                /** @description At most so many (default 100, at most 1,000). */
                limit?: number;
                /** @description From the place that the `Link` of the page before names. */
                cursor?: number;
            };
            header?: never;
            path: {
                /** @description The run's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What its jobs' reports say; nothing where they left none. With `Link: <?…>; rel="next"` where there are more */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunTests"];
                };
            };
            /** @description No such run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A filter that is none */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    of_repository: {
        parameters: {
            query: {
                /** @description `owner/repo`. */
                repository: string;
                /** @description How they ended last (`failed`, `passed`, `skipped`), or `flaky` or `quarantined`. */
                kind?: string;
                /** @description Of this workflow: its file, or the last part of its path. */
                workflow?: string;
                /** @description Of jobs of this name. */
                job?: string;
                /** @description Of this branch or tag; of a pull request: `pull/7`. */
                branch?: string;
                /** @description With this text in the suite or the name. */
                text?: string;
                /** @description `slowest`: those that took longest first; else those that are flaky or failed most. */
                sort?: string;
                /** @description How many of the newest runs with tests are looked at (default 50, at most 300). */
                runs?: number;
                /** @description At most so many (default 100, at most 1,000). */
                limit?: number;
                /** @description From the place that the `Link` of the page before names. */
                cursor?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One of each test and job. With `Link: <?…>; rel="next"` where there are more */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestSummary"][];
                };
            };
            /** @description A filter that is none */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    history: {
        parameters: {
            query: {
                /** @description `owner/repo`. */
                repository: string;
                /** @description The test's suite, exactly; nothing where it has none. */
                suite?: string;
                /** @description The test's name, exactly. */
                name: string;
                /** @description Of this workflow: its file, or the last part of its path. */
                workflow?: string;
                /** @description Of jobs of this name. */
                job?: string;
                /** @description Of this branch or tag; of a pull request: `pull/7`. */
                branch?: string;
                /** @description How many of the newest runs with tests are looked at (default 50, at most 300). */
                runs?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing where no run that is kept has it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestHistory"][];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    vm_hosts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, as they are configured */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VmHostView"][];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    cordon_vm_host: {
        parameters: {
            query?: {
                /** @description Who asks, for the record. */
                by?: string;
            };
            header?: never;
            path: {
                /** @description The host's name */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The host now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VmHostView"];
                };
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such host */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    uncordon_vm_host: {
        parameters: {
            query?: {
                /** @description Who asks, for the record. */
                by?: string;
            };
            header?: never;
            path: {
                /** @description The host's name */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The host now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VmHostView"];
                };
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such host */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    drain_vm_host: {
        parameters: {
            query?: {
                /** @description Who asks, for the record. */
                by?: string;
            };
            header?: never;
            path: {
                /** @description The host's name */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The host now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Drained"];
                };
            };
            /** @description No API token is configured */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such host */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
        /** @description The forge's JSON, signed (`X-Hub-Signature-256` or the forge's own header) */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookBody"];
            };
        };
        responses: {
            /** @description Seen before, with the run it started then if that is still kept; or starts nothing */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
            /** @description Stored; a run was started */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
            /** @description No readable event */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The signature does not hold */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Full, or the store takes no writes */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    workflows: {
        parameters: {
            query: {
                /** @description `owner/repo`; it must have pushed before, so that it is known where it is. */
                repository: string;
                /** @description The branch; without it the default branch. */
                branch?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflows of the branch that take `workflow_dispatch`, and the files that are wrong */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartableWorkflows"];
                };
            };
            /** @description The repository or branch is not known */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The repository cannot be asked now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
}
