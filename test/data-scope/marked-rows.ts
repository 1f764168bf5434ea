import { ForeignKeyConstraintViolationException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import type { NewUser } from '@plinth/iam'

/** A text that occurs in every marked row and nowhere else. It is short enough for every column. */
export const rowMarker = 'zqmark8x'
/** The text in the rows of a user of the operators' organisation. */
export const ownOrgRowMarker = 'zqown77x'
/** Organisations of the marked user and of the operators. */
const foreignOrg: number = 8008
export const operatorsOrg: number = 7007
export const markedUser: NewUser = {
  username: `${rowMarker}-user`,
  email: `${rowMarker}@example.org`,
  mobile: '+8613800138008',
  password: 'Correct-horse-8',
  orgId: foreignOrg,
}

/** A user who has rows, and the marker text that these rows contain. */
interface Marked {
  readonly userId: number
  readonly mark: string
}

/** Entities whose rows belong to no user or organisation, or that no operation reads. */
const withoutUsers: readonly string[] = [
  'IamRole',
  'IdempotencyCall',
  'IamPermission',
  'IamRolePermission',
  'IamEpoch',
  'IamAuthorityChange',
  'IamUser',
  'IamUserRole',
  'SystemConfig',
  'SystemConfigVersion',
  'SystemConfigInstance',
  'Web3Chain',
  'MessageTemplate',
  'MessageTemplateDraft',
  'MessageTemplateVersion',
  'NotificationKey',
  'DigestDefinition',
  'PointsRule',
  'SendLogCount',
  'Web3SettlementAuditCount',
  'Web3SettlementAuditPosition',
  'SchedulerTask',
  'SchedulerRun',
  'InstallState',
  'AsyncTaskGate',
  'PointsDayPosition',
  'NotificationPreferenceDefault',
  'SuppressionSoftBounce',
]

interface MarkedRow {
  readonly entity: string
  readonly table: string
  /** Column and value of the primary key. */
  readonly key: { readonly column: string; readonly value: number | string }
}

/** Marked rows by entity. */
export type MarkedRows = ReadonlyMap<string, MarkedRow>

/**
 * Returns the members that need a certain value, because the value decides whether a list shows the row, or refers to
 * another row.
 */
function membersOf(
  entity: string,
  { userId, mark }: Marked,
  idOf: (entity: string) => number,
): Readonly<Record<string, unknown>> {
  const plan = {
    outTradeNo: mark,
    state: 'ready',
    reasons: [],
    causes: [],
    chainName: null,
    chainId: null,
    transfer: null,
    transactionHash: null,
    confirmations: null,
    requiredConfirmations: null,
    eventKey: null,
    fingerprint: mark,
    fingerprintVersion: 1,
    providerId: null,
    head: null,
  }
  const asset = 'points:mall'
  const minute = 60_000
  const tomorrow = new Date(Date.now() + 86_400_000)
  const members: Readonly<Record<string, object>> = {
    ApprovalInstance: { permissionSnapshot: [], result: 'accepted' },
    AsyncTask: { status: 'succeeded', params: '{}', note: null, failure: null, beat: 0, fence: 0, holder: null },
    IamAudit: { actor: `user:${userId}`, summary: { mark } },
    IamToken: { expiresAt: tomorrow, revokedAt: null },
    IamApiToken: {
      firstCharacters: 'abcd',
      permissions: [],
      dataScope: 'self',
      expiresAt: tomorrow,
      revokedAt: null,
      audience: null,
    },
    CheckoutSale: { offerId: idOf('CheckoutOffer') },
    ForumPost: { boardId: idOf('ForumBoard') },
    ForumSubscription: { boardId: idOf('ForumBoard') },
    ForumReply: { topicId: idOf('ForumPost') },
    ForumMark: { markKey: `like:1:${userId}` },
    ForumReport: { topicId: idOf('ForumPost') },
    InstallAudit: { summary: {}, status: 'passed' },
    MallOrder: { status: 'paid' },
    MallOrderLine: { orderId: idOf('MallOrder'), goodsId: idOf('MallGoods') },
    MallReview: { lineId: idOf('MallOrderLine'), goodsId: idOf('MallGoods') },
    MallCouponUse: { orderId: idOf('MallOrder'), couponId: idOf('MallCoupon') },
    MallRefund: { status: 'pending', orderId: idOf('MallOrder') },
    MoneyAccount: { ownerType: 'user', ownerId: String(userId), role: 'owner', status: 'open', asset },
    MoneyJournal: { action: 'credit', refType: 'order' },
    MoneyEntry: { accountId: idOf('MoneyAccount'), journalId: idOf('MoneyJournal'), asset, monthKey: 202611 },
    MoneyHold: { accountId: idOf('MoneyAccount'), journalId: idOf('MoneyJournal'), state: 'open' },
    MoneyDebt: { accountId: idOf('MoneyAccount'), journalId: idOf('MoneyJournal'), recovery: 'none' },
    MoneyFinding: { reconciliationId: idOf('MoneyReconciliation'), accountId: idOf('MoneyAccount') },
    MoneyPaymentOrder: { status: 'success', outTradeNo: mark, amountRaw: null, payer: null, payerProof: null },
    MoneyPaymentTransaction: { outTradeNo: mark, facts: null },
    InboxContent: { jump: {}, variables: {}, audience: null, userIdLimit: null, module: null, category: null },
    InboxItem: { contentId: idOf('InboxContent') },
    InboxMark: { contentId: idOf('InboxContent') },
    InboxAttachment: { contentId: idOf('InboxContent'), url: null, disk: null, path: null },
    NotificationRow: {
      claimId: null,
      channels: [],
      orgId: null,
      payload: null,
      state: 'queued',
      notBefore: tomorrow,
      priority: 'normal',
    },
    NotificationPart: { notificationId: idOf('NotificationRow'), leftOut: [] },
    NotificationRule: {
      thresholdWindowMs: minute,
      dedupeWindowMs: minute,
      silenceWindowMs: minute,
      escalationAfterMs: minute,
      escalationDedupeWindowMs: minute,
      channels: ['mail'],
      recipientUserIds: [userId],
      escalationChannels: [],
      escalationRecipientUserIds: [],
    },
    SendLog: {
      status: 'failed',
      outcome: 'rejected',
      recipients: [mark],
      orgId: null,
      claimedUntil: null,
      channel: 'log',
      notificationId: idOf('NotificationRow'),
      claimedFrom: null,
      restorable: true,
      payload: '{}',
      deliveryState: 'delivered',
      bounceKind: null,
      deliveryTimes: null,
    },
    DeliveryReceipt: { status: 'waiting', state: 'delivered', bounce: null, sendLogId: null },
    DeliveryReceiptConfirmation: { status: 'waiting' },
    Suppression: { channel: 'mail', reason: 'complaint', source: 'report', endsAt: null, sendLogId: null },
    OpenApp: { scopes: [], status: 'active' },
    OpenCall: { appId: idOf('OpenApp') },
    OpenCallDay: { appId: idOf('OpenApp'), day: new Date().toISOString().slice(0, 10) },
    OutboxEvent: {
      status: 'dead',
      payload: JSON.stringify({ userId, mark }),
      leaseToken: null,
      streamKey: `user:${userId}`,
    },
    OutboxStream: { streamKey: `user:${userId}` },
    PointsSource: { accountId: idOf('MoneyAccount'), asset, status: 'active' },
    PointsSourceUse: { sourceId: idOf('PointsSource') },
    PointsSubstitute: { sourceId: idOf('PointsSource') },
    PointsOrderReward: { ruleSnapshot: null, status: 'paid', outcome: null },
    SystemConfigRequest: { status: 'rejected', origin: 'save', changes: '[]', secrets: null, masterKeyId: null },
    SocialOutbound: { outcome: 'accepted' },
    Web3SettlementReviewLog: {
      outTradeNo: mark,
      reasons: [],
      planSnapshot: plan,
      permissionSnapshot: [],
      lastOutcome: 'failed',
      lastReasons: [],
      retryAt: null,
    },
    Web3SettlementAuditLog: {
      outTradeNo: mark,
      riskReasons: [],
      confirmationSnapshot: plan,
      handlingStatus: 'open',
      riskLevel: 'high',
      suggestedAction: 'manual-review',
    },
    Web3UnmatchedPayment: {
      outTradeNo: mark,
      kind: 'late',
      state: 'open',
      source: 'order',
      amountRaw: '1',
      handledBy: userId,
    },
    PushDevice: { channel: 'web-push', status: 'active', endedAt: null },
    PushAcceptance: { deviceId: idOf('PushDevice') },
    WebhookSubscription: { endpointId: idOf('WebhookEndpoint') },
    DigestDefinition: { kind: 'fixed', slots: [], channels: [] },
    Digest: { definitionId: idOf('DigestDefinition'), state: 'sent' },
    DigestItem: { digestId: idOf('Digest'), position: 1 },
    WebhookEndpoint: { status: 'active', statusReason: null, eventTypes: ['order.paid'] },
    WebhookDelivery: {
      endpointId: idOf('WebhookEndpoint'),
      status: 'failed',
      subjectUserId: userId,
      subjectOrgId: null,
      nextAt: tomorrow,
    },
    Web3PaymentCallbackLog: { reasons: [], reviewLogId: idOf('Web3SettlementReviewLog') },
  }
  return { ...members[entity] }
}

/** Members that contain the id of the owner or of the acting user. */
const userMembers: readonly string[] = [
  'userId',
  'ownerId',
  'ownerUserId',
  'actorUserId',
  'senderId',
  'reporterId',
  'authorId',
  'requestedByUserId',
  'decidedByUserId',
  'assigneeUserId',
  'changedByUserId',
]

interface Property {
  readonly name: string
  readonly fieldNames: readonly string[]
  readonly primary?: boolean
  readonly nullable?: boolean
  readonly runtimeType: string
  readonly columnTypes: readonly string[]
}

interface Metadata {
  readonly name: string
  readonly tableName: string
  readonly class: never
  readonly properties: Readonly<Record<string, Property>>
}

/** Inserts one row of a user into every table that has rows of users. A new table needs no change here. */
export async function fillMarked(db: Database, marked: Marked): Promise<MarkedRows> {
  const em = db.fork()
  const all = [...em.getMetadata().getAll().values()] as unknown as readonly Metadata[]
  const unknown = withoutUsers.filter((entity) => !all.some(({ name }) => name === entity))
  if (unknown.length > 0) throw new Error(`There is no entity ${unknown.join(', ')}`)
  const filled = all.filter(({ name, tableName }) => tableName !== undefined && !withoutUsers.includes(name))
  const ids = new Map(filled.map(({ name }) => [name, db.newId()]))
  const rows = new Map<string, MarkedRow>()
  // The tables of a plugin are filled in the order of declaration. A row that refers to a later table cannot be
  // inserted yet and is inserted in another pass.
  let waiting = filled
  while (waiting.length > 0) {
    const later: Metadata[] = []
    for (const one of waiting) if (!(await isInserted(one))) later.push(one)
    if (later.length === waiting.length) throw new Error(`Cannot fill ${later.map(({ name }) => name).join(', ')}`)
    waiting = later
  }
  return rows

  async function isInserted({ name, tableName, class: entity, properties }: Metadata): Promise<boolean> {
    const given = membersOf(name, marked, (of) => ids.get(of) ?? 0)
    const values = Object.values(properties).map((property) => {
      if (property.name in given) return [property.name, given[property.name]] as const
      return [property.name, markedValue(property, marked, ids.get(name) ?? 0)] as const
    })
    const data = Object.fromEntries(values)
    try {
      await em.insert(entity, data as never)
    } catch (error) {
      if (error instanceof ForeignKeyConstraintViolationException) return false
      throw error
    }
    const key = Object.values(properties).find(({ primary }) => primary === true)
    if (key === undefined) throw new Error(`${name} has no primary key`)
    const value = data[key.name] as number | string
    rows.set(name, { entity: name, table: tableName, key: { column: key.fieldNames[0] ?? '', value } })
    return true
  }
}

function markedValue(
  { name, primary, runtimeType, columnTypes }: Property,
  { userId, mark }: Marked,
  id: number,
): unknown {
  if (userMembers.includes(name) && runtimeType === 'number') return userId
  if (primary && runtimeType === 'number') return id
  if (columnTypes.some((type) => type.includes('json'))) return []
  if (runtimeType === 'string') return mark
  if (runtimeType === 'number') return 1
  if (runtimeType === 'boolean') return true
  return new Date()
}

/** Returns the current content of the marked rows, for comparison. */
export async function stateOf(db: Database, rows: Iterable<MarkedRow>): Promise<ReadonlyMap<string, string>> {
  const states = new Map<string, string>()
  for (const { entity, table, key } of rows) {
    const found = await db.query(`select * from ${table} where ${key.column} = ?`, [key.value])
    states.set(
      entity,
      JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    )
  }
  return states
}
