import { defineEntity, type InferEntity, UniqueConstraintViolationException } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { instant, nullable, routesWith, Type } from '@plinth/http'
import { type Identity, requirePrincipal } from '@plinth/iam'
import { bilingual, type Clock, type PersonalTable } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { type PageRegistry, word } from './page-registry.ts'

/**
 * A decision about one entry of the list *Needs attention*. All operators share it. Only operators whose data scope contains
 * all cases of the entry may decide, so that nobody hides the cases of others.
 */
export const AttentionMark = defineEntity({
  name: 'ConsoleAttention',
  tableName: 'console_attention',
  uniques: [{ properties: ['attention'] }],
  indexes: [{ properties: ['assigneeUserId'] }, { properties: ['changedByUserId'] }],
  properties: {
    id: column.primaryKey(),
    /** Id of the declared attention. */
    attention: column.text(128),
    assigneeUserId: column.id().nullable(),
    snoozedUntil: column.timestamp().nullable(),
    /** Number of cases that were done. The attention returns with a larger number, and after `doneMs`. */
    doneCount: column.integer().nullable(),
    doneAt: column.timestamp().nullable(),
    changedByUserId: column.id(),
    changedAt: column.timestamp(),
  },
})
type AttentionMark = InferEntity<typeof AttentionMark>

export const attentionTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, AttentionMark, {
    title: bilingual('Assigned attention', '已分配的关注事项'),
    owner: 'assignee_user_id',
    erasure: 'anonymised',
    set: { assigneeUserId: null },
    reason: bilingual('The decision belongs to the product.', '该决定属于产品。'),
  }),
  personalTable(db, AttentionMark, {
    title: bilingual('Decisions about attention', '对关注事项的决定'),
    owner: 'changed_by_user_id',
    erasure: 'kept',
    reason: bilingual(
      'The decision belongs to the product. The user id no longer identifies a person.',
      '该决定属于产品。用户编号不再指向任何人。',
    ),
  }),
]

/** Time in milliseconds after which something that is done returns if it is still there: seven days. */
const doneMs = 7 * 86_400_000
/** Maximum time in milliseconds for which something can be snoozed: 90 days. */
const maxSnoozeMs = 90 * 86_400_000

export interface AttentionMarkDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly book: PageRegistry
  readonly identity: Pick<Identity, 'assertInScope'>
}

/** Mark of an attention, for the page. */
export interface AttentionMarkView {
  readonly assigneeUserId: number | null
  /** Null if it is not snoozed now. */
  readonly snoozedUntil: string | null
  /** Null if it is not done, or was done too long ago. */
  readonly doneCount: number | null
}

function viewOf({ assigneeUserId, snoozedUntil, doneCount, doneAt }: AttentionMark, now: number): AttentionMarkView {
  const isSnoozed = snoozedUntil != null && snoozedUntil.getTime() > now
  const isDone = doneAt != null && doneAt.getTime() + doneMs > now
  return {
    assigneeUserId: assigneeUserId ?? null,
    snoozedUntil: isSnoozed ? snoozedUntil.toISOString() : null,
    doneCount: isDone ? (doneCount ?? null) : null,
  }
}

/** Returns the marks by the id of their attention. */
export async function attentionMarks({
  db,
  clock,
}: {
  readonly db: Pick<Database, 'fork'>
  readonly clock: Pick<Clock, 'now'>
}): Promise<ReadonlyMap<string, AttentionMarkView>> {
  const rows = await db.fork().findAll(AttentionMark)
  return new Map(rows.map((row) => [row.attention, viewOf(row, clock.now())]))
}

/** Changes the mark of an attention. Of several first changes at the same time, all are stored, the last one last. */
async function storeMark(db: Database, attention: string, changed: Partial<AttentionMark>): Promise<AttentionMark> {
  const where = { attention }
  if ((await db.fork().nativeUpdate(AttentionMark, where, changed)) === 0) {
    const none = { assigneeUserId: null, snoozedUntil: null, doneCount: null, doneAt: null }
    try {
      await db.fork().insert(AttentionMark, { id: db.newId(), ...where, ...none, ...changed } as AttentionMark)
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error
      await db.fork().nativeUpdate(AttentionMark, where, changed)
    }
  }
  return db.fork().findOneOrFail(AttentionMark, where)
}

const { route } = routesWith<AttentionMarkDependencies>()

export const attentionMarkRoutes = [
  route({
    method: 'PUT',
    path: '/api/v1/admin/console/attention/:id',
    operationId: 'putConsoleAttention',
    summary: 'Snooze something that needs attention, mark it as done, or assign it; omitted fields do not change',
    description:
      'All operators who see all cases share the decision. You can only change what you may count completely.',
    access: 'user',
    request: {
      params: Type.Object({ id: word }),
      body: Type.Object({
        assigneeUserId: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))),
        snoozedUntil: Type.Optional(nullable(instant, { description: 'At most 90 days from now. Null: not snoozed.' })),
        doneCount: Type.Optional(
          nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }), {
            description: 'Number of cases that are done. It returns with a larger number, or after seven days.',
          }),
        ),
      }),
    },
    response: Type.Object({
      assigneeUserId: nullable(Type.Integer()),
      snoozedUntil: nullable(instant),
      doneCount: nullable(Type.Integer()),
    }),
    reasons: ['console.attention-partial', 'console.attention-unknown', 'console.snooze-too-long', 'iam.out-of-scope'],
    async handler(request, { db, clock, book, identity }) {
      const principal = requirePrincipal(request)
      const { id } = request.params
      const { assigneeUserId, snoozedUntil, doneCount } = request.body
      const seen = await book.attention(principal, request.locale)
      const found = seen.find((one) => one.id === id)
      if (found === undefined) throw businessError('attention-unknown')
      if (!found.mayDecide) throw businessError('attention-partial')
      const now = clock.now()
      const until = snoozedUntil == null ? null : new Date(snoozedUntil)
      if (until !== null && until.getTime() > now + maxSnoozeMs)
        throw businessError('snooze-too-long', { data: { field: 'snoozedUntil' } })
      if (assigneeUserId != null && assigneeUserId !== principal.userId)
        await identity.assertInScope(principal, [assigneeUserId], 'assigneeUserId')
      const changed = {
        ...(assigneeUserId === undefined ? {} : { assigneeUserId }),
        ...(snoozedUntil === undefined ? {} : { snoozedUntil: until }),
        ...(doneCount === undefined ? {} : { doneCount, doneAt: doneCount === null ? null : new Date(now) }),
        changedByUserId: principal.userId,
        changedAt: new Date(now),
      }
      return viewOf(await storeMark(db, id, changed), now)
    },
  }),
]
