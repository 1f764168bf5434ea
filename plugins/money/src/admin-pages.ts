import { adminAttention, adminDetail, adminForm, adminList, type adminPreview, adminTimeline } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { paymentStatusNames, paymentStatusTones } from './payments/contract.ts'
import { orderView } from './payments/payment-routes.ts'

const providers = { web3: text('On the chain', '链上支付'), test: text('Test payment', '测试支付') }
const transactionTypes = { ...providers, refund: text('Refund', '退款') }
// Shows the name of the owner if the owner is a user. Other types of owners have no names, and an id of theirs never
// equals the id of a user.
const owner = { labels: 'iam.user' }
const account = { labels: 'money.account', page: 'money.account' }
const journal = { labels: 'money.journal', page: 'money.journal' }
const user = { labels: 'iam.user', page: 'iam.user' }
const ownerTitle = text('Owner', '所有者')
const ownerKind = text('Owner type', '所有者类型')
const accountTitle = text('Account', '账户')
const journalTitle = text('Journal', '流水')
const aboutTitle = text('Related to', '关联对象')
const aboutKind = text('Type of related object', '关联类型')
const userTitle = text('User', '用户')
const asset = { labels: 'money.asset' }
const assetTitle = text('Asset', '资产')
const assetFilter = { name: 'asset', options: { ...asset, title: assetTitle } } as const
const systemAccounts = {
  issued: text('Issued', '发放'),
  redeemed: text('Redeemed', '使用'),
  expired: text('Expired', '过期'),
  forfeited: text('Forfeited', '作废'),
}
const ownerTypes = { user: text('User', '用户'), system: text('System', '系统') }
const accountFilter = {
  name: 'accountId',
  options: { labels: 'money.account', title: text('Account', '账户') },
} as const

const open = { open: text('Active', '正常'), closed: text('Closed', '已关闭') }
const roles = { owner: text('Owner', '所有者'), system: text('System', '系统') }
const holdStates = {
  open: text('On hold', '冻结中'),
  captured: text('Captured', '已扣款'),
  released: text('Released', '已解冻'),
}
const recoveries = {
  none: text('No recovery', '不追回'),
  'future-credits': text('From later credits', '从以后的入账中扣回'),
}
const actions = {
  credit: text('Credit', '入账'),
  debit: text('Debit', '出账'),
  transfer: text('Transfer', '转账'),
  hold: text('Hold', '冻结'),
  capture: text('Capture of a hold', '冻结扣款'),
  release: text('Release of a hold', '解冻'),
  reverse: text('Reversal', '冲回'),
}
const runStates = {
  queued: text('Queued', '排队中'),
  running: text('Running', '进行中'),
  completed: text('Completed', '已完成'),
  failed: text('Failed', '失败'),
}
const findingRules = {
  'entries-count': text('Number of entries', '分录数量'),
  'entries-available': text('Entries and available balance', '分录与可用余额'),
  'entries-frozen': text('Entries and balance on hold', '分录与冻结余额'),
  'last-entry': text('Balance after the last entry', '最后一笔分录的余额'),
  holds: text('Open holds and balance on hold', '未结冻结与冻结余额'),
  'lots-remaining': text('Remaining lots and available balance', '批次剩余与可用余额'),
  'lots-held': text('Lots on hold and balance on hold', '批次冻结与冻结余额'),
  'journal-balance': text('Journal debits equal credits', '流水借贷平衡'),
  'journal-empty': text('Journal without entries', '没有分录的流水'),
}
const openTones = { open: 'good', closed: 'quiet' } as const
const holdTones = { open: 'warn', captured: 'good', released: 'quiet' } as const
const runTones = { queued: 'quiet', running: 'info', completed: 'good', failed: 'bad' } as const

const accounts = adminList('getAdminMoneyAccounts', (row) => ({
  id: 'money.accounts',
  title: text('Accounts', '账户'),
  empty: text('No accounts yet.', '尚无账户。'),
  lead: text('Owners and their balances.', '所有者及其余额。'),
  place: { group: 'ledger', order: 10 },
  key: 'id',
  detail: 'money.account',
  live: ['money_account'],
  columns: [
    row.reference('id', account, { title: accountTitle }),
    row.text('owner.type', { title: ownerKind, labels: ownerTypes }),
    row.reference('asset', asset, { title: assetTitle }),
    row.amount('available', { currency: 'asset' }),
    row.amount('frozen', { currency: 'asset' }),
    row.amount('owed', { currency: 'asset' }),
    row.status('status', openTones, { labels: open }),
    row.status('role', { owner: 'good', system: 'quiet' }, { labels: roles, hidden: true }),
    row.count('version', { hidden: true }),
    row.time('updatedAt'),
    row.time('createdAt', { hidden: true }),
  ],
  filters: [assetFilter, { name: 'role', labels: roles }, { name: 'ownerType', labels: ownerTypes }, 'ownerId'],
}))

const accountDetail = adminDetail('getAdminMoneyAccountsByIdExplain', (it) => ({
  id: 'money.account',
  title: text('Account', '账户'),
  name: 'account.id',
  param: 'id',
  live: ['money_account'],
  sections: [
    {
      columns: [
        it.reference('account.id', { labels: 'money.account' }, { title: accountTitle }),
        it.text('account.owner.type', { title: ownerKind, labels: ownerTypes }),
        it.reference('account.owner.id', owner, { title: ownerTitle, labels: systemAccounts }),
        it.reference('account.asset', asset, { title: assetTitle }),
        it.amount('account.available', { currency: 'account.asset' }),
        it.amount('account.frozen', { currency: 'account.asset' }),
        it.amount('account.owed', { currency: 'account.asset' }),
        it.status('account.status', openTones, { labels: open }),
        it.status('account.role', { owner: 'good', system: 'quiet' }, { labels: roles }),
        it.count('account.version'),
        it.time('account.createdAt'),
        it.time('account.updatedAt'),
      ],
    },
    {
      title: text('Lots of the balance', '构成余额的批次'),
      columns: [
        it.rows('lots.items', (lot) => [
          lot.amount('granted', { currency: 'asset', total: true }),
          lot.amount('remaining', { currency: 'asset', total: true }),
          lot.amount('held', { currency: 'asset', total: true }),
          lot.time('expiresAt'),
          lot.time('createdAt'),
        ]),
      ],
    },
    {
      title: text('Open holds', '未结冻结'),
      columns: [
        it.rows('holds', (hold) => [
          hold.amount('amount', { currency: 'asset' }),
          hold.amount('captured', { currency: 'asset' }),
          hold.amount('released', { currency: 'asset' }),
          hold.time('expiresAt'),
          hold.reference('journalId', journal, { title: journalTitle }),
          hold.time('createdAt'),
        ]),
      ],
    },
  ],
  related: [
    { page: 'money.entries', title: text('Entries', '分录'), filter: { accountId: 'account.id' } },
    { page: 'money.debts', title: text('Owed amounts', '欠款'), filter: { accountId: 'account.id' } },
  ],
}))

const entries = adminList('getAdminMoneyEntries', (row) => ({
  id: 'money.entries',
  title: text('Ledger entries', '账本分录'),
  empty: text('No ledger entries yet.', '尚无账本分录。'),
  lead: text('All changes of balances, with actor and reason.', '每一笔余额变动，以及操作者和原因。'),
  place: { group: 'ledger', order: 20 },
  key: 'id',
  columns: [
    row.time('createdAt'),
    row.reference('accountId', account, { title: accountTitle }),
    row.text('displayName'),
    row.text('kind', { mono: true, hidden: true }),
    row.amount('available', { currency: 'asset' }),
    row.amount('availableAfter', { currency: 'asset' }),
    row.amount('frozen', { currency: 'asset' }),
    row.amount('frozenAfter', { currency: 'asset', hidden: true }),
    row.reference('journalId', journal, { title: journalTitle }),
    row.text('reference.type', { title: aboutKind, hidden: true }),
    row.text('reference.id', { mono: true, title: aboutTitle, hidden: true }),
    row.reference('actor', { labels: 'iam.actor' }),
    row.text('reason'),
    row.text('key', { mono: true, hidden: true }),
    row.text('owner.type', { title: ownerKind, labels: ownerTypes, hidden: true }),
    row.count('sequence', { hidden: true }),
    row.text('monthKey', { hidden: true }),
  ],
  filters: [accountFilter, assetFilter, { name: 'role', labels: roles }],
}))

const journalDetail = adminDetail('getAdminMoneyJournalsById', (it) => ({
  id: 'money.journal',
  title: text('Journal', '流水'),
  name: 'displayName',
  param: 'id',
  sections: [
    {
      columns: [
        it.status(
          'action',
          {
            credit: 'good',
            debit: 'warn',
            transfer: 'info',
            hold: 'warn',
            capture: 'info',
            release: 'quiet',
            reverse: 'info',
          },
          { labels: actions },
        ),
        it.text('key', { mono: true }),
        it.text('reference.type', { title: aboutKind }),
        it.text('reference.id', { mono: true, title: aboutTitle }),
        it.reference('actor', { labels: 'iam.actor' }),
        it.text('reason'),
        it.reference('parentJournalId', journal, { title: text('Parent journal', '上级流水') }),
        it.time('occurredAt'),
        it.time('createdAt'),
      ],
    },
    {
      title: text('Entries', '分录'),
      columns: [
        it.rows('entries', (entry) => [
          entry.reference('accountId', account, { title: accountTitle }),
          entry.amount('available', { currency: 'asset' }),
          entry.amount('availableAfter', { currency: 'asset' }),
          entry.amount('frozen', { currency: 'asset' }),
          entry.amount('frozenAfter', { currency: 'asset' }),
          entry.count('sequence'),
        ]),
      ],
    },
  ],
}))

const holds = adminList('getAdminMoneyHolds', (row) => ({
  id: 'money.holds',
  title: text('Holds', '冻结'),
  empty: text('No amounts are held.', '没有冻结的金额。'),
  lead: text('Amounts reserved until they are captured or released.', '已预留、等待扣款或解冻的金额。'),
  place: { group: 'ledger', order: 30 },
  key: 'id',
  live: ['money_hold'],
  columns: [
    row.reference('accountId', account, { title: accountTitle }),
    row.status('state', holdTones, { labels: holdStates }),
    row.amount('amount', { currency: 'asset' }),
    row.amount('captured', { currency: 'asset' }),
    row.amount('released', { currency: 'asset' }),
    row.reference('journalId', journal, { title: journalTitle }),
    row.time('expiresAt'),
    row.time('createdAt'),
  ],
  filters: [{ name: 'state', labels: holdStates }, accountFilter],
}))

const debts = adminList('getAdminMoneyDebts', (row) => ({
  id: 'money.debts',
  title: text('Owed amounts', '欠款'),
  empty: text('Nothing is owed.', '没有欠款。'),
  lead: text(
    'Amounts that owners had spent before they were taken back, for example by a chargeback.',
    '被收回（例如拒付）之前已被使用的金额。',
  ),
  place: { group: 'ledger', order: 35 },
  key: 'id',
  live: ['money_debt'],
  columns: [
    row.time('createdAt'),
    row.reference('accountId', account, { title: accountTitle }),
    row.text('displayName'),
    row.amount('owed', { currency: 'asset', total: true }),
    row.amount('shortfall', { currency: 'asset' }),
    row.amount('deducted', { currency: 'asset', hidden: true }),
    row.status('recovery', { none: 'quiet', 'future-credits': 'info' }, { labels: recoveries }),
    row.reference('journalId', journal, { title: journalTitle, hidden: true }),
    row.text('reference.type', { title: aboutKind, hidden: true }),
    row.text('reference.id', { mono: true, title: aboutTitle }),
    row.text('kind', { mono: true, hidden: true }),
    row.reference('actor', { labels: 'iam.actor', optional: true }, { hidden: true }),
    row.text('reason'),
  ],
  filters: [accountFilter],
}))

const reconciliations = adminList('getAdminMoneyReconciliations', (row) => ({
  id: 'money.reconciliations',
  title: text('Reconciliations', '对账'),
  empty: text('No reconciliations yet.', '尚无对账记录。'),
  lead: text(
    'A reconciliation checks that entries, balances, holds and lots agree. It does not change the ledger.',
    '对账会检查分录、余额、冻结和批次是否一致，不修改账本。',
  ),
  place: { group: 'ledger', order: 40 },
  key: 'id',
  detail: 'money.reconciliation',
  live: ['money_reconciliation'],
  columns: [
    row.time('createdAt', { link: true }),
    row.status('state', runTones, { labels: runStates }),
    row.reference('asset', asset, { title: assetTitle }),
    row.count('findings'),
    row.count('accounts'),
    row.count('journals'),
    row.text('requestedBy'),
    row.time('finishedAt'),
  ],
  create: adminForm('postAdminMoneyReconciliations', {
    title: text('Reconcile', '开始对账'),
    lead: text(
      'A background task checks the whole ledger or one of its assets. The ledger is not changed.',
      '后台任务将核对整个账本或其中一种资产，不做任何修改。',
    ),
    submit: text('Start', '开始'),
    fields: ['asset'],
    outcome: { field: 'state', good: ['queued', 'running', 'completed'] },
  }),
}))

const reconciliation = adminDetail('getAdminMoneyReconciliationsById', (it) => ({
  id: 'money.reconciliation',
  title: text('Reconciliation', '对账'),
  name: 'createdAt',
  param: 'id',
  live: ['money_reconciliation'],
  sections: [
    {
      columns: [
        it.status('state', runTones, { labels: runStates }),
        it.reference('asset', asset, { title: assetTitle }),
        it.count('findings'),
        it.count('accounts'),
        it.count('journals'),
        it.text('requestedBy'),
        it.time('createdAt'),
        it.time('finishedAt'),
      ],
    },
  ],
  related: [{ page: 'money.findings', title: text('Differences', '差异'), filter: { id: 'id' } }],
}))

const findings = adminList('getAdminMoneyReconciliationsByIdFindings', (row) => ({
  id: 'money.findings',
  title: text('Differences', '对账差异'),
  empty: text('No differences found.', '没有发现差异。'),
  key: 'id',
  live: ['money_finding'],
  columns: [
    row.status(
      'rule',
      {
        'entries-count': 'bad',
        'entries-available': 'bad',
        'entries-frozen': 'bad',
        'last-entry': 'bad',
        holds: 'bad',
        'lots-remaining': 'bad',
        'lots-held': 'bad',
        'journal-balance': 'bad',
        'journal-empty': 'bad',
      },
      { labels: findingRules },
    ),
    row.reference('accountId', account, { title: accountTitle }),
    row.reference('journalId', journal, { title: journalTitle }),
    row.count('expected'),
    row.count('found'),
    row.time('createdAt'),
  ],
}))

export const ledgerPages = [accounts, accountDetail, entries, journalDetail, holds, debts]

/**
 * Pages of reconciliations, which run as asynchronous tasks. A product without the plugin for such tasks does not show
 * them.
 */
export const reconciliationPages = [reconciliations, reconciliation, findings]

/** Only the newest reconciliation counts, because differences of an older one may already be corrected. */
const newest = { size: 1, count: 'none' } as const

export const needsAttention = [
  adminAttention('getAdminMoneyReconciliations', {
    id: 'money.findings',
    title: text('The last reconciliation found differences', '最近一次对账发现差异'),
    tone: 'bad',
    unattended: text('Balances may be wrong, and the difference can grow.', '余额可能有误，差异还可能扩大。'),
    query: newest,
    count: 'items',
    filled: 'findings',
    page: { id: 'money.reconciliations' },
  }),
  adminAttention('getAdminMoneyReconciliations', {
    id: 'money.reconciliation-failed',
    title: text('The last reconciliation did not finish', '最近一次对账未能完成'),
    tone: 'bad',
    unattended: text('Differences stay undiscovered.', '差异不会被发现。'),
    query: newest,
    count: 'items',
    where: { state: 'failed' },
    page: { id: 'money.reconciliations' },
  }),
]

const scene = { labels: 'money.payment-scene' }
const orderLabel = { labels: 'money.payment-order', page: 'money.payment-order' }

const paymentOrders = adminList('getAdminMoneyPaymentOrders', (row) => {
  const columns = [
    row.text('outTradeNo', { link: true, mono: true }),
    row.status('status', paymentStatusTones, { labels: paymentStatusNames }),
    row.reference('userId', user, { title: userTitle }),
    row.amount('amount', { currency: 'asset', total: true }),
    row.amount('refundedAmount', { currency: 'asset', total: true, hidden: true }),
    row.text('provider', { labels: providers }),
    row.reference('scene', scene, { hidden: true }),
    row.text('transactionHash', { mono: true, hidden: true }),
    row.time('createdAt'),
    row.time('paidAt'),
  ]
  return {
    id: 'money.payment-orders',
    title: text('Payment orders', '支付订单'),
    empty: text('No payment orders yet.', '尚无支付订单。'),
    lead: text('Payment orders with payer, payment method and status.', '支付单及其付款人、支付方式和状态。'),
    place: { group: 'orders', order: 10 },
    key: 'outTradeNo',
    detail: 'money.payment-order',
    live: ['money_payment_order'],
    columns: [...columns, ...row.others(orderView.schema, [...columns, 'asset'], { hidden: true })],
    find: ['outTradeNo'],
    filters: [
      { name: 'status', labels: paymentStatusNames },
      'provider',
      'outTradeNo',
      { name: 'userId', options: { labels: 'iam.user', title: userTitle } },
    ],
  }
})

const blocks = {
  'order-not-paid': text('The order is not paid', '订单未支付'),
  'refund-exceeds-paid': text('Exceeds the amount paid', '超过已付金额'),
  'refund-elsewhere': text('Refund this order in the module that created it', '请在创建此订单的模块中退款'),
  'refund-rejected': text(
    'The units are already spent, or the plugin of the order rejects it',
    '余额已使用，或订单所属插件拒绝',
  ),
  'order-not-pending': text('The order is not awaiting payment', '订单不在待支付状态'),
}
const blockTones = {
  'order-not-paid': 'bad',
  'refund-exceeds-paid': 'bad',
  'refund-elsewhere': 'bad',
  'refund-rejected': 'bad',
  'order-not-pending': 'bad',
} as const
type ChangeResult = Parameters<
  NonNullable<Parameters<typeof adminPreview<'postAdminMoneyPaymentOrdersByOutTradeNoRefundPreview'>>[1]>['answer']
>[0]
const changeColumns = (it: ChangeResult) => [
  it.amount('amount', { currency: 'asset' }),
  it.amount('refundedBefore', { currency: 'asset' }),
  it.amount('refundedAfter', { currency: 'asset' }),
  it.status('statusBefore', paymentStatusTones, { labels: paymentStatusNames }),
  it.status('statusAfter', paymentStatusTones, { labels: paymentStatusNames }),
  it.flag('possible'),
  it.status('blockedBy', blockTones, { labels: blocks }),
  it.text('rejection', { mono: true }),
  it.flag('transactionRequired'),
  it.amount('owed', { currency: 'asset' }),
]

const paymentOrder = adminDetail('getAdminMoneyPaymentOrdersByOutTradeNo', (it) => {
  const order = [
    it.text('outTradeNo', { mono: true }),
    it.status('status', paymentStatusTones, { labels: paymentStatusNames }),
    it.reference('userId', user, { title: userTitle }),
    it.amount('amount', { currency: 'asset' }),
    it.amount('refundedAmount', { currency: 'asset' }),
    it.text('provider', { labels: providers }),
    it.reference('scene', scene),
  ]
  const onChain = [
    it.text('chainName'),
    it.text('chainId'),
    it.text('tokenContract', { mono: true }),
    it.text('receiver', { mono: true }),
    it.text('amountRaw', { mono: true }),
    it.count('requiredConfirmations'),
    it.text('transactionHash', { mono: true }),
    it.text('payer', { mono: true }),
    it.text('payerProof'),
  ]
  return {
    id: 'money.payment-order',
    title: text('Payment order', '支付订单'),
    name: 'outTradeNo',
    param: 'outTradeNo',
    live: ['money_payment_order', 'money_payment_transaction'],
    sections: [
      { columns: [...order, ...it.others(orderView.schema, [...order, ...onChain, 'asset', 'createdAt', 'paidAt'])] },
      { title: text('On the chain', '链上信息'), columns: onChain },
    ],
    moments: [
      { at: 'createdAt', title: text('Order created', '创建订单') },
      { at: 'paidAt', title: text('Order paid', '订单已支付') },
    ],
    form: it.form('postAdminMoneyPaymentOrdersByOutTradeNoRefund', {
      title: text('Record a refund', '登记退款'),
      lead: text(
        'Records a refund that was already made at the provider or on the chain. No money is moved. If you enter no amount, the remaining amount is refunded.',
        '登记已在支付渠道或链上完成的退款，此处不会转移资金。不填金额则退还剩余全部。',
      ),
      submit: text('Record', '登记'),
      params: { outTradeNo: 'outTradeNo' },
      fields: ['amount', 'transactionHash', 'receiver', 'recoverLater', 'reason'],
      amounts: { amount: { field: 'asset' } },
      preview: it.preview('postAdminMoneyPaymentOrdersByOutTradeNoRefundPreview', {
        params: { outTradeNo: 'outTradeNo' },
        takes: ['amount'],
        possible: 'possible',
        answer: changeColumns,
      }),
      tone: 'danger',
    }),
    actions: [
      it.action('postAdminMoneyPaymentOrdersByOutTradeNoClose', {
        label: text('Close', '关闭'),
        params: { outTradeNo: 'outTradeNo' },
        ask: ['reason'],
        when: { status: 'pending' },
        confirm: text(
          'Closes the order {{outTradeNo}}. Later payments do not settle it.',
          '将关闭订单 {{outTradeNo}}，之后的付款不会再结算此订单。',
        ),
        preview: it.preview('postAdminMoneyPaymentOrdersByOutTradeNoClosePreview', {
          params: { outTradeNo: 'outTradeNo' },
          possible: 'possible',
          answer: changeColumns,
        }),
        tone: 'danger',
      }),
    ],
  }
})

const paymentTransactions = adminList('getAdminMoneyPaymentTransactions', (row) => ({
  id: 'money.payment-transactions',
  title: text('Payment transactions', '支付流水'),
  empty: text('No payment transactions yet.', '尚无支付流水。'),
  lead: text('Payments and refunds.', '支付和退款记录。'),
  place: { group: 'orders', order: 20 },
  key: 'id',
  live: ['money_payment_transaction'],
  columns: [
    row.time('createdAt'),
    row.reference('outTradeNo', orderLabel),
    row.text('type', { labels: transactionTypes }),
    row.amount('amount', { currency: 'asset' }),
    row.text('chainName'),
    row.text('transactionHash', { mono: true }),
    row.count('logOrdinal', { hidden: true }),
    row.text('eventKey', { mono: true, hidden: true }),
    row.flag('shared', { hidden: true }),
  ],
  filters: ['outTradeNo', 'type', 'shared'],
}))

export const paymentPages = [paymentOrders, paymentOrder, paymentTransactions]

export const paymentTimelines = [
  adminTimeline('getAdminMoneyPaymentTransactions', (row) => ({
    id: 'money.payments.transactions-of-order',
    page: 'money.payment-order',
    filter: { outTradeNo: 'outTradeNo' },
    at: 'createdAt',
    columns: [
      row.text('type', { labels: transactionTypes }),
      row.amount('amount', { currency: 'asset' }),
      row.text('chainName'),
      row.text('transactionHash', { mono: true }),
    ],
  })),
]

export const sharedRefunds = adminAttention('getAdminMoneyPaymentTransactions', {
  id: 'money.payments.shared-refunds',
  title: text('Refunds that share a transaction', '共用同一交易的退款'),
  tone: 'warn',
  unattended: text('A repayment may have been recorded twice.', '同一笔退款可能被登记了两次。'),
  query: { shared: true, size: 100, count: 'none' },
  count: 'items',
  page: { id: 'money.payment-transactions', filter: { shared: 'true' } },
})
