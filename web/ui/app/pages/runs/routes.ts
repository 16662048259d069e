// The pages of workflow runs.

export const routes = [
  { path: '/runs', title: 'Runs', load: () => import('./Runs.svelte'), nav: { label: 'Runs', order: 50 }, needs: 'runner' },
  { path: '/runs/:id', title: 'Run', load: () => import('./Run.svelte'), needs: 'runner' },
];
