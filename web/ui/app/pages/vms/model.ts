// What the VM manager's API says: the shapes of its OpenAPI document (`npm run types`).

import type { components } from "../../api/vm-manager";
import type { Sent } from "../../lib/sent";

type Schemas = components["schemas"];
export type Vm = Sent<Schemas["Vm"]>;
export type Health = Sent<Schemas["Health"]>;
export type Image = Sent<Schemas["ImageView"]>;
export type Stock = Sent<Schemas["PoolStock"]>;

/** The run that a job's VM is of: its owner says `run-<id>-<attempt>-<job>`. */
export function runOf(vm: Vm): string | undefined {
  return /^run-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-\d+-\d+$/.exec(vm.owner ?? '')?.[1];
}

const ISOLATION: Record<string, string> = {
  'hardware-vm': 'A virtual machine on the processor’s own virtualisation: the strongest there is here.',
  'emulated-vm': 'A virtual machine whose processor is emulated: as separate as one on hardware, and slower.',
  'namespace-sandbox': 'No virtual machine: Linux namespaces on the host’s own kernel. Run only what you trust.',
};
export const isolationMeans = (isolation: string): string => ISOLATION[isolation] ?? 'An isolation this page does not know.';

export const TEMPLATE: Record<Stock['template'], string> = { absent: 'none: booted when asked for', preparing: 'being made', ready: 'ready: cloned in a moment', failed: 'could not be made' };

/** What a VM does, in words. */
export function does(vm: Vm): string {
  if (vm.reason) return `failed: ${vm.reason.replaceAll('_', ' ')}`;
  if (vm.state === 'starting') return 'starts';
  if (vm.running) return `runs ${vm.running === 1 ? 'a command' : `${vm.running} commands`}`;
  return vm.ended ? `waits for the next command; ${vm.ended} ended` : 'waits for its first command';
}
