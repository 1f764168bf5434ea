import { createStaticLabelSource, type LabelSource, maxLabels } from '@plinth/admin'
import { localize } from '@plinth/kernel'
import { permissionCodes } from './declarations.ts'
import type { InstallSteps } from './execution/steps.ts'
import { SessionRow } from './records/entities.ts'
import type { InstallServices } from './requires.ts'
import type { Translate } from './texts.ts'

/** Names of the installation runs: the times when they started, in the time zone of the site. */
export const runLabels = ({ database, site }: Pick<InstallServices, 'database' | 'site'>): LabelSource => {
  const labelsOf = (rows: readonly SessionRow[], locale: string) => {
    const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: site.timeZone })
    return rows.map(({ id, startedAt }) => ({ id, name: format.format(startedAt) }))
  }
  const newest = { orderBy: { startedAt: 'desc' }, limit: maxLabels } as const
  return {
    permission: permissionCodes.view,
    scope: 'all',
    byIds: async (ids, { locale }) =>
      labelsOf(await database.fork().find(SessionRow, { id: { $in: [...ids] } }), locale),
    search: async (_, { locale }) => labelsOf(await database.fork().find(SessionRow, {}, newest), locale),
  }
}

/** Names of the installation steps, by their codes. */
export const stepLabels = ({
  steps,
  translate,
}: {
  readonly steps: InstallSteps
  readonly translate: Translate
}): LabelSource =>
  createStaticLabelSource(
    (locale) =>
      steps.all.map(({ code, displayName }) => ({
        id: code,
        name: displayName === undefined ? translate(locale, `step.${code}.name`) : localize(displayName, locale),
      })),
    permissionCodes.view,
  )
