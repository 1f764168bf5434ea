import { adminChart, adminDetail, adminForm, adminList, adminPreview, adminTimeline } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { titlesOfChoices } from '@plinth/table'
import { defaultAsset } from './contract.ts'
import { ExpireBatch } from './entities.ts'
import { ruleTypesWith } from './rules/rule-types.ts'

const user = { labels: 'iam.user', page: 'iam.user' }
const journal = { labels: 'money.journal', page: 'money.journal' }
const asset = { labels: 'money.asset' }
const assetTitle = text('Asset', '资产')
const assetFilter = { name: 'asset', options: { ...asset, title: assetTitle } } as const
const journalTitle = text('Journal', '流水')
const member = { labels: 'iam.user', title: text('Member', '会员') }
const memberFilter = { name: 'userId', options: member } as const

/** Columns for the settings of a rule. The type of the rule determines which settings it has. */
const settings = [
  'config.points',
  'config.cycleDays',
  'config.bonuses',
  'config.perAmount',
  'config.currency',
  'config.maxPoints',
  'config.recovery',
  'config.recoverExpired',
  'config.once',
  'config.expiresInDays',
  'config.expiringSoonDays',
] as const
const settingOf = (name: (typeof settings)[number]) =>
  name.slice('config.'.length) as Parameters<typeof ruleTypesWith>[0]
const texts = ['displayTitle.en', 'displayTitle.zh-CN', 'displayDescription.en', 'displayDescription.zh-CN'] as const
const settingSection = {
  title: text('Settings', '设置'),
  fields: ['config.points', 'config.once', 'config.expiresInDays'] as const,
}
const textSection = { title: text('Texts for members', '会员看到的文字'), fields: texts }

const recoveries = {
  none: text('No recovery', '不追回'),
  'future-grants': text('From future points', '从以后的积分中扣回'),
}
const accountStates = { open: text('Active', '正常'), closed: text('Closed', '已关闭') }
const ruleTypes = {
  'check-in': text('Check-in', '签到'),
  order: text('Order', '订单'),
  task: text('Task', '任务'),
  lottery: text('Lottery', '抽奖'),
  manual: text('Manual adjustment', '手动调整'),
  expiry: text('Expiry', '过期'),
}
const sourceStates = {
  active: text('Active', '有效'),
  exhausted: text('Used up', '已用完'),
  expired: text('Expired', '已过期'),
  reversed: text('Taken back', '已收回'),
}
const batchStates = titlesOfChoices(ExpireBatch.columns.status.description)
const sourceTones = { active: 'good', exhausted: 'quiet', expired: 'warn', reversed: 'bad' } as const
const batchTones = { running: 'info', completed: 'good', failed: 'bad' } as const

const accounts = adminList('getAdminMemberPointsAccounts', (row) => ({
  id: 'member-points.accounts',
  title: text('Points accounts', '积分账户'),
  empty: text('No points accounts yet.', '尚无积分账户。'),
  lead: text('Points that members have and can spend.', '会员持有和可用的积分。'),
  place: { group: 'points', order: 10 },
  key: 'id',
  detail: 'money.account',
  columns: [
    row.reference('id', { labels: 'money.account', page: 'money.account' }, { title: text('Account', '账户') }),
    row.reference('userId', user, { title: member.title }),
    row.amount('available', { currency: 'asset' }),
    row.amount('frozen', { currency: 'asset' }),
    row.status('status', { open: 'good', closed: 'quiet' }, { labels: accountStates }),
    row.time('updatedAt'),
    row.reference('asset', asset, { title: assetTitle, hidden: true }),
    row.time('createdAt', { hidden: true }),
  ],
  find: ['userId'],
  filters: [memberFilter, assetFilter],
  create: adminForm('postAdminMemberPointsManualAdjustments', {
    title: text('Adjust points', '调整积分'),
    lead: text(
      'Enter a positive number to grant points and a negative number to deduct them. The member sees the reason.',
      '正数为发放，负数为扣减。会员可以看到原因。',
    ),
    submit: text('Adjust', '调整'),
    fields: ['userId', 'points', 'reason'],
    options: { userId: member },
    amounts: { points: { unit: defaultAsset } },
    preview: adminPreview('postAdminMemberPointsManualAdjustmentsPreview', {
      takes: ['userId', 'points'],
      possible: 'possible',
      answer: (it) => [
        it.reference('userId', user, { title: member.title }),
        it.amount('availableBefore', { currency: 'asset' }),
        it.amount('points', { currency: 'asset' }),
        it.amount('availableAfter', { currency: 'asset' }),
        it.amount('frozen', { currency: 'asset' }),
        it.flag('possible'),
        it.time('expiresAt'),
      ],
    }),
    answer: (it) => [
      it.reference('userId', user, { title: member.title }),
      it.amount('points', { currency: 'asset' }),
      it.amount('available', { currency: 'asset' }),
      it.amount('frozen', { currency: 'asset' }),
      it.reference('journalId', journal, { title: journalTitle }),
    ],
    created: { page: 'money.journal', field: 'journalId' },
  }),
}))

const ledger = adminList('getAdminMemberPointsLedgers', (row) => ({
  id: 'member-points.ledger',
  title: text('Points ledger', '积分流水'),
  empty: text('No points were granted or taken yet.', '尚无积分变动。'),
  lead: text('All changes of points, with actor and reason.', '每一笔积分变动，以及操作者和原因。'),
  place: { group: 'points', order: 20 },
  links: [{ page: 'member-points.days', label: text('By day', '按日统计') }],
  key: 'id',
  columns: [
    row.time('createdAt'),
    row.reference('userId', user, { title: member.title }),
    row.text('displayName'),
    row.text('displayTitle'),
    row.amount('points', { currency: 'asset' }),
    row.amount('availableAfter', { currency: 'asset' }),
    row.amount('frozenPoints', { currency: 'asset', hidden: true }),
    row.amount('frozenAfter', { currency: 'asset', hidden: true }),
    row.text('reason'),
    row.reference('actor', { labels: 'iam.actor' }),
    row.reference('journalId', journal, { title: journalTitle }),
    row.text('referenceType', { hidden: true }),
    row.text('referenceId', { mono: true, hidden: true }),
    row.text('kind', { mono: true, hidden: true }),
    row.text('key', { mono: true, hidden: true }),
  ],
  filters: [memberFilter, assetFilter],
}))

const sources = adminList('getAdminMemberPointsSources', (row) => ({
  id: 'member-points.sources',
  title: text('Points sources', '积分来源'),
  empty: text('No points with an expiry date yet.', '尚无积分来源。'),
  lead: text('Sources of member points, with expiry and use.', '会员积分的来源、过期时间及使用情况。'),
  place: { group: 'points', order: 30 },
  links: [{ page: 'member-points.expire-batches', label: text('Expiry runs', '到期批次') }],
  key: 'id',
  columns: [
    row.reference('userId', user, { title: member.title }),
    row.reference('journalId', journal, { title: text('Source', '来源') }),
    row.status('status', sourceTones, { labels: sourceStates }),
    row.amount('granted', { currency: 'asset' }),
    row.amount('remaining', { currency: 'asset', total: true }),
    row.amount('held', { currency: 'asset', total: true }),
    row.amount('consumed', { currency: 'asset', hidden: true }),
    row.amount('reversed', { currency: 'asset', hidden: true }),
    row.amount('expired', { currency: 'asset', hidden: true }),
    row.time('expiresAt'),
    row.reference('ruleCode', { labels: 'member-points.rule' }),
    row.count('ruleVersion'),
    row.text('sourceType', { hidden: true }),
    row.text('sourceId', { mono: true, hidden: true }),
    row.time('createdAt'),
  ],
  filters: [{ name: 'status', labels: sourceStates }, memberFilter, assetFilter],
}))

const rules = adminList('getAdminMemberPointsRules', (row) => ({
  id: 'member-points.rules',
  title: text('Points rules', '积分规则'),
  empty: text('No points rules yet.', '尚无积分规则。'),
  lead: text(
    'Rules for rewarding members. Saving a rule creates a new version. Points that were already granted do not change.',
    '会员获得积分的规则。保存规则会产生新版本，已发放的积分不变。',
  ),
  place: { group: 'points', order: 40 },
  key: 'id',
  detail: 'member-points.rule',
  columns: [
    row.text('displayName', { link: true }),
    row.text('code', { mono: true }),
    row.status(
      'type',
      { 'check-in': 'info', order: 'info', task: 'info', lottery: 'info', manual: 'quiet', expiry: 'quiet' },
      { labels: ruleTypes },
    ),
    row.flag('enabled'),
    row.count('version'),
    row.time('activeFrom'),
    row.time('activeTo', { hidden: true }),
    row.reference('updatedBy', user),
    row.reference('asset', asset, { title: assetTitle, hidden: true }),
  ],
  create: adminForm('postAdminMemberPointsRules', {
    title: text('New rule', '新建规则'),
    body: { version: { value: 0 } },
    fields: ['code', 'type', 'enabled', 'asset', 'config.points', 'config.once', 'config.expiresInDays', ...texts],
    sections: [settingSection, textSection],
    showWhen: {
      'config.points': { type: ruleTypesWith('points') },
      'config.once': { type: ruleTypesWith('once') },
    },
    amounts: { 'config.points': { field: 'asset' } },
    reason: 'optional',
  }),
}))

const ruleVersions = adminList('getAdminMemberPointsRules', (row) => ({
  id: 'member-points.rule-versions',
  title: text('Versions of a rule', '规则版本'),
  empty: text('The rule has not changed yet.', '该规则尚未变更。'),
  lead: text('Each change of a rule creates a version.', '规则每次修改都会产生一个版本。'),
  key: 'id',
  detail: 'member-points.rule',
  columns: [
    row.count('version'),
    row.flag('current'),
    row.flag('enabled'),
    row.difference('previousConfig', 'config', { title: text('Settings before and after', '设置（修改前后）') }),
    row.time('activeFrom'),
    row.time('activeTo'),
    row.reference('updatedBy', user),
  ],
  filters: ['code'],
}))

const rule = adminDetail('getAdminMemberPointsRulesById', (it) => ({
  id: 'member-points.rule',
  title: text('Points rule', '积分规则'),
  name: 'displayName',
  param: 'id',
  sections: [
    {
      columns: [
        it.text('code', { mono: true }),
        it.status(
          'type',
          { 'check-in': 'info', order: 'info', task: 'info', lottery: 'info', manual: 'quiet', expiry: 'quiet' },
          { labels: ruleTypes },
        ),
        it.flag('enabled'),
        it.count('version'),
        it.flag('current'),
        it.reference('asset', asset, { title: assetTitle }),
        it.time('activeFrom'),
        it.time('activeTo'),
        it.reference('updatedBy', user),
      ],
    },
    {
      title: text('Settings', '设置'),
      columns: [
        it.amount('config.points', { currency: 'asset' }),
        it.count('config.cycleDays'),
        it.amount('config.perAmount', { currency: 'config.currency' }),
        it.text('config.currency'),
        it.amount('config.maxPoints', { currency: 'asset' }),
        it.text('config.recovery', { labels: recoveries }),
        it.flag('config.recoverExpired'),
        it.flag('config.once'),
        it.count('config.expiresInDays'),
        it.count('config.expiringSoonDays'),
        it.rows('config.bonuses', (bonus) => [bonus.count('day'), bonus.count('points')]),
      ],
    },
    {
      title: text('Texts for members', '会员看到的文字'),
      columns: [
        it.text('displayTitle.en', { title: text('Title in English', '英文标题') }),
        it.text('displayTitle.zh-CN', { title: text('Title in Chinese', '中文标题') }),
        it.text('displayDescription.en', { title: text('Description in English', '英文说明') }),
        it.text('displayDescription.zh-CN', { title: text('Description in Chinese', '中文说明') }),
      ],
    },
  ],
  form: it.form('postAdminMemberPointsRules', {
    title: text('Change', '修改'),
    lead: text('Creates a new version of the rule.', '保存后将产生规则的新版本。'),
    body: { code: 'code', type: 'type', asset: 'asset' },
    version: 'version',
    sections: [{ title: settingSection.title, fields: [...settings] }, textSection],
    showWhen: Object.fromEntries(settings.map((name) => [name, { type: ruleTypesWith(settingOf(name)) }])),
    options: { 'config.currency': { labels: 'console.currency', title: text('Currency', '币种') } },
    amounts: {
      'config.points': { field: 'asset' },
      'config.maxPoints': { field: 'asset' },
      'config.perAmount': { field: 'config.currency' },
    },
    fields: ['enabled', ...settings, ...texts],
    reason: 'optional',
  }),
  related: [{ page: 'member-points.rule-versions', title: text('Versions', '版本'), filter: { code: 'code' } }],
}))

const batches = adminList('getAdminMemberPointsExpireBatches', (row) => ({
  id: 'member-points.expire-batches',
  title: text('Expiry runs', '积分过期批次'),
  empty: text('No points have expired yet.', '尚无积分过期。'),
  lead: text('Runs that remove points whose expiry time has passed.', '清除到期积分的各次执行。'),
  key: 'id',
  live: ['points_expire_batch'],
  columns: [
    row.time('startedAt'),
    row.status('status', batchTones, { labels: batchStates }),
    row.reference('asset', asset, { title: assetTitle }),
    row.count('scanned'),
    row.count('expired'),
    row.amount('points', { currency: 'asset' }),
    row.count('refused'),
    row.time('asOf'),
    row.time('finishedAt'),
  ],
  filters: [assetFilter],
  create: adminForm('postAdminMemberPointsExpireBatchesRun', {
    title: text('Expire points now', '立即执行过期'),
    lead: text(
      'Removes all points whose expiry time has passed from the balances of all members. You cannot undo this.',
      '将从所有会员的余额中清除已到期的积分，无法撤销。',
    ),
    submit: text('Run', '执行'),
    fields: ['asset'],
    reason: 'required',
    tone: 'danger',
    answer: (it) => [
      it.status('status', batchTones, { labels: batchStates }),
      it.count('scanned'),
      it.count('expired'),
      it.amount('points', { currency: 'asset' }),
      it.count('refused'),
    ],
    outcome: { field: 'status', good: ['running', 'completed'] },
  }),
}))

const days = adminList('getAdminMemberPointsDays', (row) => ({
  id: 'member-points.days',
  title: text('Points by day', '每日积分'),
  empty: text('No points on these days.', '这些日期没有积分变动。'),
  lead: text(
    'Points granted, returned, used, taken back and expired per day, for all members. The last few minutes are not included yet.',
    '全部会员每日发放、退回、使用、收回和过期的积分。最近几分钟的数据稍后计入。',
  ),
  key: 'id',
  live: ['points_day'],
  columns: [
    row.text('day'),
    row.amount('granted', { currency: 'asset' }),
    row.amount('returned', { currency: 'asset' }),
    row.amount('consumed', { currency: 'asset' }),
    row.amount('reversed', { currency: 'asset' }),
    row.amount('expired', { currency: 'asset' }),
    row.reference('asset', asset, { title: assetTitle, hidden: true }),
  ],
  filters: [assetFilter],
}))

export const pages = [accounts, ledger, sources, rules, ruleVersions, rule, batches, days]

const orderOutcomes = {
  granted: text('Granted', '已发放'),
  awaited: text('None yet: the payment has not arrived', '暂无：尚未收到付款'),
  'rule-off': text('None: the rule was off', '未发放：规则已停用'),
  'other-currency': text('None: the rule is for another currency', '未发放：规则适用于其他币种'),
  'too-little': text('None: the amount is too small for one point', '未发放：金额不足一分'),
  'account-closed': text('None: the points account is closed', '未发放：积分账户已关闭'),
}
const outcomeTones = {
  granted: 'good',
  awaited: 'quiet',
  'rule-off': 'warn',
  'other-currency': 'warn',
  'too-little': 'warn',
  'account-closed': 'warn',
} as const

/** Points of an order and of its refunds, on the page of its payment. */
export const timelines = [
  adminTimeline('getAdminMemberPointsOrderRewards', (row) => ({
    id: 'member-points.reward-of-order',
    page: 'money.payment-order',
    filter: { orderNo: 'outTradeNo' },
    at: 'createdAt',
    title: text('Points for the order', '订单积分'),
    columns: [
      row.status('outcome', outcomeTones, { labels: orderOutcomes }),
      row.amount('granted', { currency: 'asset' }),
      row.reference('ruleCode', { labels: 'member-points.rule' }),
    ],
    opens: { page: 'member-points.rule', field: 'ruleId' },
  })),
  adminTimeline('getAdminMemberPointsOrderReversals', (row) => ({
    id: 'member-points.reversals-of-order',
    page: 'money.payment-order',
    filter: { orderNo: 'outTradeNo' },
    at: 'createdAt',
    title: text('Points taken back', '收回积分'),
    columns: [
      row.amount('deducted', { currency: 'asset' }),
      row.reference('journalId', journal, { title: journalTitle }),
    ],
  })),
]

export const pointsCharts = [
  adminChart('getAdminMemberPointsDays', {
    id: 'member-points.days',
    title: text('Points by day', '每日积分'),
    lead: text(
      'Points granted, used, taken back and expired in the last 100 days.',
      '最近 100 天发放、使用、收回和过期的积分。',
    ),
    page: 'member-points.days',
    order: 5,
    query: { size: 100, count: 'none' },
    at: 'day',
    currency: 'asset',
    lines: [
      { field: 'granted', tone: 'good' },
      { field: 'consumed', tone: 'info' },
      { field: 'reversed', tone: 'bad' },
      { field: 'expired', tone: 'warn' },
    ],
  }),
  adminChart('getAdminMemberPointsExpireBatches', {
    id: 'member-points.lapsed',
    title: text('Expired points', '过期的积分'),
    lead: text('The last 100 runs, by start time.', '最近 100 次执行，按开始时间排列。'),
    page: 'member-points.expire-batches',
    order: 10,
    query: { size: 100, count: 'none' },
    at: 'startedAt',
    currency: 'asset',
    lines: [{ field: 'points', tone: 'warn' }],
  }),
]
