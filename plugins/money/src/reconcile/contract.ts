import { service } from '@plinth/kernel'
import type { Reconciler } from './reconciler.ts'

/** The plugin's own: its tasks and commands run after set-up and find it so. */
export const reconciliations = service<Pick<Reconciler, 'request' | 'run'>>('money.reconciliations', {
  from: '@plinth/money',
})
