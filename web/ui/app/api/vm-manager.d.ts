// Of openapi/vm-manager.json, written by `npm run types`.

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tells how the manager is, what isolation its VMs have, and why. Needs no token. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/images": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the images that VMs can be made of. */
        get: operations["images"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pool": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what waits in the warm pool: templates and clones of them. */
        get: operations["pool"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the VMs that are given out. */
        get: operations["list"];
        put?: never;
        /**
         * Gives out a VM: it is ready when the answer comes. Sent again with the same `Idempotency-Key`,
         *     the same VM is the answer.
         */
        post: operations["create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/stuck": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Releases what is stuck: lease over, boot over its deadline, guest silent, process gone. Without
         *     the scope `vms:admin` only the caller's own.
         */
        delete: operations["release_stuck"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows one VM. */
        get: operations["show"];
        put?: never;
        post?: never;
        /** Releases a VM: nothing of it is left when the answer comes. One that is gone is no error. */
        delete: operations["release"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/exec": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Runs something in a VM. */
        post: operations["start"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/exec/{eid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows how something stands, or with `follow=1` its output from the beginning, as it comes. */
        get: operations["show_exec"];
        put?: never;
        post?: never;
        /** Kills all that a command has started. One that has ended is no error. */
        delete: operations["kill"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Packs a file or folder of the VM. */
        get: operations["get"];
        /** Unpacks a tar in a folder of the VM. */
        put: operations["put"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/lease": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Holds a VM longer: so many seconds from now on. */
        post: operations["lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lets a VM stand still: it keeps its memory and its lease, uses no processor time, and takes no
         *     work. With `reclaimable` it may be ended when others need its room. One that is paused already
         *     is no error.
         */
        post: operations["pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets a VM go on, with the host's time. One that is not paused is no error. */
        post: operations["resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the snapshots of a VM, the oldest first. */
        get: operations["list_snapshots"];
        put?: never;
        /**
         * Keeps memory and disk of a VM as they are, to go back to. It stands still meanwhile. Only while
         *     nothing runs in it, no files are on their way and no program has a connection open.
         */
        post: operations["take_snapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/snapshots/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Forgets a snapshot of a VM. That there is none is no error. */
        delete: operations["forget_snapshot"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/snapshots/{name}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lets a VM be as it was at a snapshot, with the host's time; it runs afterwards. Only while
         *     nothing runs in it.
         */
        post: operations["restore_snapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vms/{id}/terminal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The terminal of what was started with `terminal`: a WebSocket. Binary messages are output and
         *     input, text messages are JSON: `{"resize": {"columns": 80, "rows": 24}}` from the client,
         *     `{"dropped": 4096}` and at last `{"ended": …}` to it. Closing it ends what runs.
         */
        get: operations["terminal"];
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
        /** @description What VMs may use of the host together, and what of it is free. */
        CapacityView: {
            /**
             * Format: int64
             * @description What of it is free.
             */
            free_mem_mib: number;
            /**
             * Format: int32
             * @description VMs that may be started now.
             */
            free_vms: number;
            /**
             * Format: int64
             * @description Memory of all of them in MiB, what their monitors use included.
             */
            mem_mib: number;
            /**
             * Format: int32
             * @description VMs at once, those that wait in the pool included.
             */
            vms: number;
        };
        /** @description A line of a followed execution: output as it came. Exactly one of `data` and `b64` is there. */
        Chunk: {
            /** @description The output in standard base64, when they are not: a character may be cut by the chunk's end. */
            b64?: string | null;
            /** @description The output, when the bytes of this chunk are UTF-8. */
            data?: string | null;
            /** @description Where it came from. */
            stream: components["schemas"]["Stream"];
        };
        /** @description Body of `POST /vms`. All of it can be left out: what is `None` is the manager's default. */
        CreateVm: {
            /**
             * @description With `user`: of what the manager's configuration allows, only these places: `pkg.test`,
             *     `*.dists.test`, `10.0.0.5:8080`; ports 80 and 443 unless given. All of it without.
             */
            allow?: string[] | null;
            /**
             * Format: int32
             * @description Disk in MiB, the image's content included; 2048 unless given.
             */
            disk_mib?: number;
            /** @description The image; `default` unless given. */
            image?: components["schemas"]["ImageRef"];
            /** @description The least isolation that will do; `emulated-vm` unless given. */
            isolation_min?: components["schemas"]["Isolation"];
            /**
             * Format: int64
             * @description Seconds until it is released unless extended; 600 unless given.
             */
            lease_s?: number;
            /**
             * Format: int32
             * @description Memory in MiB; 256 unless given.
             */
            mem_mib?: number;
            /** @description `none` unless given. */
            network?: components["schemas"]["Network"];
            /** @description Who asks, for people; `unnamed` unless given. */
            owner?: components["schemas"]["Owner"];
            /**
             * @description Where plain HTTP requests of the VM's programs to `127.0.0.1:3128` itself are led: a host
             *     and port that the manager's configuration names in `[network]` `services`. With any
             *     `network`.
             */
            services?: string | null;
            /**
             * Format: int32
             * @description Virtual processors; 1 unless given.
             */
            vcpus?: number;
        };
        /** @description Answer of `POST /vms`. */
        Created: {
            /**
             * Format: int64
             * @description From the request to the VM being ready, waiting included.
             */
            alloc_ms: number;
            /** @description Its id. */
            id: string;
            /** @description What separates it from the host. */
            isolation: components["schemas"]["Isolation"];
            /** @description When its lease ends. */
            lease_until: components["schemas"]["UnixMs"];
            /** @description Where it came from. */
            source: components["schemas"]["Source"];
            /** @description `ready`. */
            state: components["schemas"]["VmState"];
        };
        /**
         * @description What runs the VMs.
         * @enum {string}
         */
        DriverName: "qemu" | "firecracker" | "bubblewrap" | "scripted";
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
        /** @description Answer of `POST /vms/{id}/exec`. */
        ExecStarted: {
            /** @description Its id, unique within the VM. */
            exec_id: string;
        };
        /**
         * @description The state of something in a VM, as the API shows it.
         * @enum {string}
         */
        ExecState: "running" | "exited" | "timed_out" | "killed" | "lost" | "not_started";
        /** @description Body of `POST /vms/{id}/lease`. */
        ExtendLease: {
            /**
             * Format: int64
             * @description Seconds from now.
             */
            lease_s: number;
        };
        /**
         * @description Why a VM failed, or was released as stuck.
         * @enum {string}
         */
        FailureReason: "not_started" | "boot_deadline" | "guest_silent" | "process_gone" | "bad_protocol" | "clock_wrong" | "lease_over" | "left_behind" | "reclaimed";
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
        /** @description Answer of `PUT /vms/{id}/files`. */
        FilesPut: {
            /**
             * Format: int64
             * @description Bytes of content written.
             */
            bytes: number;
            /**
             * Format: int64
             * @description Files, folders and links made.
             */
            entries: number;
        };
        /** @description Answer of `GET /health`. */
        Health: {
            capacity: components["schemas"]["CapacityView"] | null;
            /** @description What runs them. */
            driver: components["schemas"]["DriverName"];
            /** @description The isolation that VMs have here. */
            isolation: components["schemas"]["Isolation"];
            /** @description Hardware virtualisation. */
            kvm: components["schemas"]["Kvm"];
            /** @description The warm pool. */
            pool: components["schemas"]["PoolView"];
            /** @description How it is on the whole. */
            status: components["schemas"]["HealthStatus"];
            /** @description The manager's version. */
            version: string;
        };
        /**
         * @description How the manager is.
         * @enum {string}
         */
        HealthStatus: "ok" | "degraded" | "failed";
        ImageRef: string;
        /** @description An image: what the disk of a VM holds when it begins. */
        ImageView: {
            /**
             * Format: int64
             * @description Bytes on the host.
             */
            bytes: number;
            /** @description The hash of its content, in hexadecimal. */
            digest: string;
            /** @description What it is called; an image may have several names, or none. */
            names: string[];
            /**
             * Format: int64
             * @description Bytes of the disk as a VM sees it.
             */
            virtual_bytes: number;
        };
        /**
         * @description How strongly a job is separated from the host, weakest first. It is shown in `/health`, run
         *     records, logs and statuses, and is never lowered in silence.
         * @enum {string}
         */
        Isolation: "namespace-sandbox" | "emulated-vm" | "hardware-vm";
        /** @description What is known of the host's hardware virtualisation. */
        Kvm: {
            /** @description Whether `/dev/kvm` exists. That alone proves nothing. */
            device: boolean;
            /** @description Why it is usable or not, in words. */
            reason: string;
            /** @description Whether a canary VM booted on it within its deadline. */
            usable: boolean;
        };
        /** @description Answer of `POST /vms/{id}/lease`. */
        LeaseView: {
            /** @description When it ends now. */
            lease_until: components["schemas"]["UnixMs"];
        };
        /**
         * @description What the guest can reach over the network.
         * @enum {string}
         */
        Network: "none" | "user";
        /** @description Body of `POST /vms/{id}/snapshots`. */
        NewSnapshot: {
            /** @description What it is called. */
            name: components["schemas"]["SnapshotName"];
        };
        Owner: string;
        /** @description Pauses a VM. */
        PauseVm: {
            /** @description It may be ended when others need its room. */
            reclaimable?: boolean;
        };
        /** @description What there is of one kind of VM: its template, and clones of it that wait. */
        PoolStock: {
            /** @description Whether the configuration names it; others are kept while they are used. */
            configured: boolean;
            /**
             * Format: int32
             * @description Disk in MiB.
             */
            disk_mib: number;
            /** @description The image. */
            image: string;
            last_used?: components["schemas"]["UnixMs"] | null;
            /** @description Clones that are being made. */
            making: number;
            /**
             * Format: int32
             * @description Memory in MiB.
             */
            mem_mib: number;
            /** @description Clones that wait. */
            ready: number;
            retry_at?: components["schemas"]["UnixMs"] | null;
            /** @description Whether there is a template. */
            template: components["schemas"]["TemplateView"];
            /**
             * Format: int32
             * @description Virtual processors.
             */
            vcpus: number;
        };
        /** @description The warm pool in numbers. */
        PoolView: {
            /** @description VMs that are given out. */
            in_use: number;
            /** @description VMs that wait. */
            ready: number;
            /** @description VMs that should wait. */
            target: number;
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
        /** @description Answer of `DELETE /vms/stuck`. */
        Released: {
            /** @description How many VMs are fine. */
            kept: number;
            /** @description What was released, and why. */
            released: components["schemas"]["ReleasedVm"][];
        };
        /** @description One VM that was stuck. */
        ReleasedVm: {
            /** @description Its id. */
            id: string;
            /** @description Why it was released. */
            reason: components["schemas"]["FailureReason"];
        };
        SnapshotName: string;
        /** @description A snapshot. */
        SnapshotView: {
            /**
             * Format: int64
             * @description Bytes that it takes on the host's disk.
             */
            bytes: number;
            /** @description What it is called. */
            name: components["schemas"]["SnapshotName"];
            /** @description When it was taken. */
            taken: components["schemas"]["UnixMs"];
            /**
             * Format: int64
             * @description Milliseconds for which the VM stood still.
             */
            took_ms: number;
        };
        /**
         * @description Where a VM came from.
         * @enum {string}
         */
        Source: "pool" | "clone" | "cold";
        /** @description Body of `POST /vms/{id}/exec`: exactly one of `script` and `argv`. */
        StartExec: {
            /** @description A program and its arguments; no shell reads them. */
            argv?: string[] | null;
            /** @description Where it starts; `/workspace` unless given. */
            cwd?: string | null;
            /** @description Added to the guest's own small environment. */
            env?: {
                [key: string]: string;
            };
            /** @description A script, run by `shell`. */
            script?: string | null;
            /**
             * @description `bash` (`bash --noprofile --norc -e -o pipefail`), `sh` (`sh -e`), `python`, or a command of
             *     words with `{0}` for the script's file; `bash` unless given. Only with `script`.
             */
            shell?: string | null;
            terminal?: components["schemas"]["TerminalSize"] | null;
            /**
             * Format: int64
             * @description After this long its process group is killed; unlimited, but for the lease, unless given.
             */
            timeout_ms?: number | null;
        };
        /**
         * @description Where output came from.
         * @enum {string}
         */
        Stream: "stdout" | "stderr";
        /**
         * @description Whether there is a template.
         * @enum {string}
         */
        TemplateView: "absent" | "preparing" | "ready" | "failed";
        /** @description What the side of the person says beside the input. */
        TerminalCommand: {
            /** @description The terminal has another size. */
            resize: components["schemas"]["TerminalSize"];
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
        /** @description The size of a terminal. */
        TerminalSize: {
            /**
             * Format: int32
             * @description Columns, 1 to 1000.
             */
            columns: number;
            /**
             * Format: int32
             * @description Rows, 1 to 1000.
             */
            rows: number;
        };
        UnixMs: string;
        /** @description One VM. */
        Vm: {
            /** @description The places its request narrows that to. */
            allow?: string[] | null;
            /** @description When it was started. */
            created_at: components["schemas"]["UnixMs"];
            /**
             * Format: int32
             * @description Disk in MiB.
             */
            disk_mib: number;
            /** @description What runs it. */
            driver: components["schemas"]["DriverName"];
            /** @description Commands that have ended in it. */
            ended: number;
            /** @description Its id. */
            id: string;
            /** @description The image's name or digest, as asked for. */
            image: string;
            /** @description What separates it from the host. */
            isolation: components["schemas"]["Isolation"];
            last_seen?: components["schemas"]["UnixMs"] | null;
            lease_until?: components["schemas"]["UnixMs"] | null;
            /**
             * Format: int32
             * @description Memory in MiB.
             */
            mem_mib: number;
            /** @description What it can reach. */
            network: components["schemas"]["Network"];
            /** @description Who has it; absent while it waits in the pool. */
            owner?: string | null;
            /** @description It stands still: it uses no processor time and takes no work until it is resumed. */
            paused?: boolean;
            reason?: components["schemas"]["FailureReason"] | null;
            /** @description Commands that run in it. */
            running: number;
            /** @description Where it came from. */
            source: components["schemas"]["Source"];
            /** @description Where it is in its lifecycle. */
            state: components["schemas"]["VmState"];
            /**
             * Format: int32
             * @description Virtual processors.
             */
            vcpus: number;
        };
        /**
         * @description Where a VM is in its lifecycle.
         * @enum {string}
         */
        VmState: "starting" | "ready" | "busy" | "stopping" | "gone" | "failed";
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
                    "application/json": components["schemas"]["Health"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    images: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All images, by digest. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageView"][];
                };
            };
            /** @description They are being made. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    pool: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One entry for each kind of VM that is configured or was asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolStock"][];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All VMs the caller sees, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Vm"][];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Tells an order sent twice from two orders; at most 200 visible characters. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateVm"];
            };
        };
        responses: {
            /** @description The VM is ready. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Created"];
                };
            };
            /** @description Less isolation than asked for is all there is. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The VM of this Idempotency-Key has ended. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Outside of the limits, an unknown image, a network that is not allowed, or a key that was used for another order. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The VM did not start. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No room, or the image is being made; `Retry-After` says when to come again. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    release_stuck: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was released and why, and how many are fine. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Released"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The VM. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Vm"];
                };
            };
            /** @description There is none, or it is somebody else's. */
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
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
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
    start: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartExec"];
            };
        };
        responses: {
            /** @description It was started. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecStarted"];
                };
            };
            /** @description The VM takes no work. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    show_exec: {
        parameters: {
            query?: {
                /** @description `1`: output as it comes, then how it ended. */
                follow?: string;
            };
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
                /** @description What was started */
                eid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Without `follow`: the state. With it: lines of JSON, of which the last is the state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exec"];
                    "application/x-ndjson": components["schemas"]["Chunk"];
                };
            };
            /** @description Nothing of this id was started there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    kill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
                /** @description What was started */
                eid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The VM was told. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Nothing of this id was started there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    get: {
        parameters: {
            query: {
                /** @description A path in the VM; absolute. */
                path: string;
            };
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A tar. A connection that breaks means that it is not whole. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": number[];
                };
            };
            /** @description No such path. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    put: {
        parameters: {
            query: {
                /** @description A path in the VM; absolute. */
                path: string;
            };
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        /** @description The tar, at most 4 GiB. */
        requestBody: {
            content: {
                "application/x-tar": number[];
            };
        };
        responses: {
            /** @description What was unpacked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FilesPut"];
                };
            };
            /** @description It is no tar, or would leave its folder. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The VM's disk is full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExtendLease"];
            };
        };
        responses: {
            /** @description When the lease ends now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseView"];
                };
            };
            /** @description It is over, or as long as any may be. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PauseVm"];
            };
        };
        responses: {
            /** @description It stands still. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Something runs in it, or its driver cannot. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It runs. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It has ended. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    list_snapshots: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it can go back to. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotView"][];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    take_snapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSnapshot"];
            };
        };
        responses: {
            /** @description There is one of this name already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotView"];
                };
            };
            /** @description It was taken. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotView"];
                };
            };
            /** @description Something is under way in the VM, it has as many as it may, or its driver cannot. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The host's disk has no room for it. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    forget_snapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
                /** @description The snapshot */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description There is none of this name. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The VM has ended. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    restore_snapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
                /** @description The snapshot */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It runs from there. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no such snapshot. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Something is under way in the VM, or it has ended. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Problem"];
        };
    };
    terminal: {
        parameters: {
            query: {
                /** @description The id of what was started with `terminal`. */
                exec: string;
            };
            header?: never;
            path: {
                /** @description A VM's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Messages both ways. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TerminalEvent"];
                };
            };
            /** @description No WebSocket. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Nothing of this id was started there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description As many terminals as may be are open. */
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
