// What the VM manager's API says: the shapes of its OpenAPI document that this page uses.

export interface Vm {
  id: string; state: string; reason?: string; driver: string; isolation: string; image: string;
  mem_mib: number; vcpus: number; disk_mib: number; network: string; allow?: string[];
  created_at?: string; lease_until?: string; owner?: string; last_seen?: string; source?: string;
  running?: number; ended?: number;
}
export interface Health {
  status: 'ok' | 'degraded' | 'failed'; isolation: string; driver: string;
  kvm: { device: boolean; usable: boolean; reason: string };
  pool: { ready: number; target: number; in_use: number }; version: string;
}
export interface Image { digest: string; names: string[]; bytes: number; virtual_bytes: number }
export interface Stock {
  image: string; vcpus: number; mem_mib: number; disk_mib: number; template: 'absent' | 'preparing' | 'ready' | 'failed';
  retry_at?: string; ready: number; making: number; configured: boolean; last_used?: string;
}

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
