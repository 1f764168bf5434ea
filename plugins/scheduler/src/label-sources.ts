import { type LabelSource, listedLabels } from '@plinth/admin'
import { type BoundScheduledTask, localize } from '@plinth/kernel'
import { own } from './permissions.ts'

/** Names of the scheduled tasks of the product. */
export const taskLabels = (tasks: readonly BoundScheduledTask[]): LabelSource =>
  listedLabels(
    (locale) => tasks.map(({ name, displayName }) => ({ id: name, name: localize(displayName, locale) })),
    own.taskView,
  )
