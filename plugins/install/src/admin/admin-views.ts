import { auditedChange, count, nullable, spoken, Type } from '@plinth/http'
import { type LocalizedText, localize, ownProperty } from '@plinth/kernel'
import type { Static } from 'typebox'
import * as view from '../contract.ts'
import { auditedInstallation } from '../records/audit-words.ts'
import { type AuditRow, type SessionRow, sessionStatuses } from '../records/entities.ts'
import { createReader, type Translate } from '../texts.ts'

export const outcome = Type.Enum(['passed', 'warning', 'failed'])
export const sessionView = Type.Object({
  id: Type.String(),
  status: Type.Enum([...sessionStatuses]),
  startedAt: Type.String({ format: 'date-time' }),
  endedAt: Type.String({ description: 'End of the run in ISO 8601. Empty while it runs.' }),
  durationMs: nullable(count, { description: 'Null while it runs.' }),
  retriedSessionId: Type.String({ description: 'Id of the run that this run repeats. Empty if it repeats none.' }),
  failedStep: Type.String(),
  message: Type.String(),
  clientIp: Type.String(),
})
export const sessionDetail = Type.Object({ session: sessionView, records: Type.Array(view.recordView) })
export const auditView = Type.Object({
  id: Type.Integer(),
  action: Type.String(),
  actionName: Type.String({ description: 'Name of the operation in the language of the request.' }),
  status: outcome,
  sessionId: Type.String(),
  operator: Type.String(),
  sourceIp: Type.String(),
  userAgent: Type.String(),
  traceId: Type.String(),
  summary: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  occurredAt: Type.String({ format: 'date-time' }),
})
export const auditDetailView = Type.Object({
  ...auditView.properties,
  changes: Type.Array(auditedChange, { description: 'Facts of the summary with their titles.' }),
})
export const diagnosticsView = Type.Object({
  product: Type.Object({ name: Type.String(), version: Type.String(), node: Type.String() }),
  status: view.statusView,
  steps: Type.Array(view.stepView),
  preflight: Type.Object({ passed: Type.Boolean(), checks: Type.Array(view.checkView) }),
  sessions: Type.Array(sessionView),
  executionLogs: Type.Array(view.recordView),
})
/**
 * The confirmation phrase is optional in the schema. A missing phrase is handled like a wrong phrase: the response
 * reports that nothing changed.
 */
export const stateBody = Type.Object({
  confirmation: Type.Optional(Type.String({ maxLength: 256 })),
  reason: Type.Optional(Type.String({ maxLength: 10_000, description: 'The first 200 characters are kept.' })),
})
export const resetBody = Type.Object({
  ...stateBody.properties,
  dryRun: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True: return the effects without making changes. The confirmation phrase is then not required.',
    }),
  ),
})
export const resetView = Type.Object({
  reset: Type.Boolean(),
  alreadyUninstalled: Type.Boolean(),
  message: Type.String(),
  entry: Type.Optional(
    Type.Object(
      {
        installAllowed: Type.Boolean({ description: 'False if the configuration locks the installer for everyone.' }),
        tokenRequired: Type.Boolean(),
        networks: Type.Array(Type.String(), {
          description: 'Networks from which the installer can be used. If empty, it can be used from everywhere.',
        }),
        productClosed: Type.Boolean({
          description: 'True if only the installer responds until the installation is complete.',
        }),
      },
      { description: 'State of the installer after the reset. Absent if the reset is rejected.' },
    ),
  ),
})
export function viewOfSession(
  { startedAt, endedAt, ...row }: SessionRow,
  locale: string,
  translate: Translate,
): Static<typeof sessionView> {
  const durationMs = endedAt == null ? null : Math.max(0, endedAt.getTime() - startedAt.getTime())
  const message = createReader(translate, locale)(row.message)
  return { ...row, message, startedAt: startedAt.toISOString(), endedAt: endedAt?.toISOString() ?? '', durationMs }
}

const actionNames: Readonly<Record<string, LocalizedText>> = auditedInstallation.actions

export function viewOfAudit(
  { clientIp, occurredAt, ...row }: AuditRow,
  locale: string,
  translate: Translate,
): Static<typeof auditView> {
  const name = ownProperty(actionNames, row.action)
  const actionName = name === undefined ? spoken(row.action) : localize(name, locale)
  const { message } = row.summary
  const said = typeof message === 'string' ? { message: createReader(translate, locale)(message) } : {}
  const summary = { ...row.summary, ...said }
  return { ...row, summary, actionName, sourceIp: clientIp, occurredAt: occurredAt.toISOString() }
}
