import { type LabelSource, listedLabels } from '@plinth/admin'
import { localize, type QuickstartCleanup } from '@plinth/kernel'
import { own } from './permissions.ts'

/** Names of the modules that have demo data. */
export const moduleLabels = (cleanups: ReadonlyMap<string, QuickstartCleanup>): LabelSource =>
  listedLabels(
    (locale) => [...cleanups].map(([id, { displayName }]) => ({ id, name: localize(displayName, locale) })),
    own.view,
  )
