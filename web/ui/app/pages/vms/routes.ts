// The page of virtual machines.

export const routes = [
  { path: '/vms', title: 'Machines', load: () => import('./Vms.svelte'), nav: { label: 'Machines', order: 60 }, needs: 'vm-manager' },
];
