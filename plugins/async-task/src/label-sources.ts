import { type LabelSource, listedLabels } from '@plinth/admin'
import { localize } from '@plinth/kernel'
import type { TaskTypes } from './task-types.ts'

/** Names of the kinds of tasks that this process can run; whoever is signed in has tasks. */
export const typeLabels = (types: TaskTypes): LabelSource =>
  listedLabels((locale) =>
    types.ids.map((id) => ({ id, name: localize(types.find(id)?.type.displayName ?? id, locale) })),
  )
