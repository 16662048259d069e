// What this page asks the VM manager.
import { api } from "../../lib/api";
import type { Health, Image, Stock, Vm } from "./model";

const PART = "vm-manager";

/** What to tell a person about a failure. */
export const say = (error: unknown): string => (error instanceof Error ? error.message : "something went wrong");

export const health = (): Promise<Health> => api(PART, "/health");
export const vms = (): Promise<Vm[]> => api(PART, "/vms");
export const images = (): Promise<Image[]> => api(PART, "/images");
export const stock = (): Promise<Stock[]> => api(PART, "/pool");
export const releaseVm = (id: string): Promise<unknown> => api(PART, `/vms/${encodeURIComponent(id)}`, { method: "DELETE" });
