import type { RecordedChange } from './recorded-change.ts'

/**
 * One change for each line of `node test/proofs/draw-lines.ts --seed 20261130 --count 75`, in the order of the draw,
 * without the lines of `leftOut20261130`. The last three changes are an exception: their tests were written later. All
 * 60 changes were written before the first one was tested. In the first run, the named tests noticed 38 of the 60, and
 * `test/generated-pages.test.ts` two more.
 */
export const drawn20261130: readonly RecordedChange[] = [
  {
    file: 'plugins/notification/src/send-log/send-log-reader.ts',
    fragment: 'failedLast24h: recent.total,',
    replacement: 'failedLast24h: counts.failed,',
    effect:
      'The number of failed sends of the last day is that of all failed sends that cannot be retried, of any age.',
    breaks: [],
    noticedBy: ['plugins/notification/test/send-log.test.ts'],
    only: ['N-123 N-140 N-141 N-142 D51 the totals'],
  },
  {
    file: 'plugins/console/web/field/rule-text.ts',
    fragment: 'lookup(typeTexts, limit)',
    replacement: 'lookup(typeTexts, keyword)',
    effect: 'A value of the wrong type is rejected without a text that names the expected type.',
    breaks: [],
    noticedBy: ['plugins/console/test/field-rules.test.ts'],
    only: ['a broken rule is explained with its limit'],
  },
  {
    file: 'plugins/web3-settlement/src/declarations.ts',
    fragment: '.filter((code) => principal.can(code))',
    replacement: '.filter((code) => !principal.can(code))',
    effect: 'A decision stores the permissions that the user does not have.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
    only: ['S-055 S-073 each action needs its permission'],
  },
  {
    file: 'plugins/install/src/execution/step-overview.ts',
    fragment: 'const maxRecords = 500',
    replacement: 'const maxRecords = 50',
    effect: 'A step whose last record is not among the newest 50 records is shown without its result.',
    breaks: [],
    noticedBy: ['plugins/install/test/admin.test.ts'],
    only: ['I-055 I-158 I-161 records of single steps'],
  },
  {
    file: 'plugins/template/src/template-admin.ts',
    fragment: 'content: content.content, html, htmlFormat, locale })',
    replacement: "content: content.content, html, htmlFormat: 'html', locale })",
    effect: 'MJML of a saved template is not compiled, so recipients get its source.',
    breaks: [],
    noticedBy: ['plugins/template/test/templates.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/shell/kept.ts',
    fragment: 'if (choices.recent[0] === page) return',
    replacement: 'if (choices.recent.includes(page)) return',
    effect: 'A recent page that is opened again does not become the first recent page.',
    breaks: [],
    noticedBy: ['plugins/console/test/saved-views.test.ts'],
    only: ['recent pages are the last five'],
  },
  {
    file: 'plugins/notification/src/delivery/message-routes.ts',
    fragment: 'list.list({ ...query, rows }, window)',
    replacement: 'list.list({ rows }, window)',
    effect: 'The list of messages ignores the filter by state.',
    breaks: [],
    noticedBy: ['plugins/notification/test/delivery.test.ts'],
    only: ['N-001 N-124 a queued message is sent in parts'],
  },
  {
    file: 'plugins/notification-channels/src/webhook/attributes.ts',
    fragment: 'values[own] = readAttribute(attribute, written, rule)',
    replacement: 'values[own] = readAttribute(own, written, rule)',
    effect: 'The error for an invalid attribute of a webhook provider names it without its prefix.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/wire.test.ts'],
    only: ['N-048 N-049 attributes of a provider'],
  },
  {
    file: 'plugins/console/src/admin/operations.ts',
    fragment: 'const choices = schema?.anyOf',
    replacement: 'const choices = schema?.oneOf',
    effect:
      'Members of the API that may be null are not recognised, so pages that use them are rejected or show them wrongly.',
    breaks: [],
    noticedBy: ['plugins/console/test/file-fields.test.ts'],
    only: ['a file column shows only a file'],
  },
  {
    file: 'plugins/system-config/src/secrets/secret-box.ts',
    fragment: "if (!isBusinessError(error) || error.code !== '409') throw",
    replacement: 'if (!isBusinessError(error)) throw',
    effect:
      'If the config centre refuses to store a new key of a plugin, the operator reads that the key is invalid, not the reason.',
    breaks: [],
    noticedBy: ['plugins/system-config/test/secrets.test.ts'],
    only: ['if the config centre cannot store a new plugin key'],
  },
  {
    file: 'plugins/inbox/src/items/inbox-routes.ts',
    fragment: `    path,
    compress: false,`,
    replacement: `    path: \`\${path}/items\`,
    compress: false,`,
    effect: 'The inbox cannot be listed at its documented path.',
    breaks: [],
    noticedBy: ['plugins/inbox/test/inbox.test.ts'],
    only: ['a message of an administrator reaches the inboxes'],
  },
  {
    file: 'plugins/web3/src/chains/chain-registry.ts',
    fragment: `const purposeOf = (chain: string, provider: string) => \`web3-rpc:\${chain}:\${provider}\``,
    replacement: `const purposeOf = (chain: string, _provider: string) => \`web3-rpc:\${chain}\``,
    effect:
      'The encrypted URL of a provider is valid for each provider of its chain, and URLs that an earlier release stored cannot be decrypted.',
    breaks: [],
    noticedBy: ['plugins/web3/test/chains.test.ts'],
    only: ['an encrypted URL is valid only for its own provider'],
  },
  {
    file: 'plugins/member-points/src/days/day-totals.ts',
    fragment: `const dayView = Type.Object({
  id,
`,
    replacement: `const dayView = Type.Object({
`,
    others: [
      {
        file: 'plugins/member-points/src/days/day-totals.ts',
        fragment: `  count,
  id,
  type ListOrder,`,
        replacement: `  count,
  type ListOrder,`,
      },
    ],
    effect: 'The daily totals of points have no ids in the response.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
    only: ['every generated file agrees with the sources'],
  },
  {
    file: 'plugins/database/src/connections/server-connection.ts',
    fragment: 'const graceMs = 5_000',
    replacement: 'const graceMs = 5',
    effect: 'The database server ends work at almost the same time as the timeout of the product.',
    breaks: [],
    noticedBy: ['plugins/database/test/deadlines.test.ts'],
    only: ['a server session has limits, except in migrations'],
  },
  {
    file: 'plugins/iam/src/label-sources.ts',
    fragment: '{ $and: [{ id: { $in: numbers(ids) } }, scope] }',
    replacement: '{ ...scope, id: { $in: numbers(ids) } }',
    effect: 'An operator whose data scope is the own account can read the names of all users.',
    breaks: [],
    noticedBy: ['test/data-scope.test.ts'],
  },
  {
    file: 'plugins/notification-channels/src/webhook/attributes.ts',
    fragment: 'value.length <= maxAttributeLength) return value.trim()',
    replacement: 'value.length <= maxAttributeLength) return value',
    effect: 'Spaces around a provider, URL or secret in the attributes of a message make the webhook fail.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/routing.test.ts'],
  },
  {
    file: 'plugins/rate-limit/src/plugin.ts',
    fragment: `    for (const one of needsAttention) contribute(attention, one.id, one)
`,
    replacement: '',
    others: [
      {
        file: 'plugins/rate-limit/src/plugin.ts',
        fragment: 'import { limitCharts, needsAttention, pages }',
        replacement: 'import { limitCharts, pages }',
      },
    ],
    effect:
      'The back office does not report stores of rate limits that fail, nor settings that allow calls without a limit.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'kernel/src/running-product.ts',
    fragment: "for (const hook of host.hooks.ready) await this.#startStep(host, 'ready', hook)",
    replacement: "for (const hook of host.hooks.ready) void this.#startStep(host, 'ready', hook)",
    effect: 'The start does not wait for the last steps of the plugins, and their errors do not end it.',
    breaks: [],
    noticedBy: ['kernel/test/lifecycle.test.ts'],
    only: ['K-018 a failure in setup or ready stops'],
  },
  {
    file: 'plugins/http/src/openapi/operation-types.ts',
    fragment: `\`    \${operation.operationId}: \${typesOf(operation)}\``,
    replacement: `\`    \${operation['x-plugin']}: \${typesOf(operation)}\``,
    effect: 'The types for back office pages have the names of plugins in place of the names of operations.',
    breaks: [],
    noticedBy: ['examples/acme-admin-pages/plugin.test.ts'],
  },
  {
    file: 'plugins/inbox/src/personal-data.ts',
    fragment: `'通知偏好'),
    owner: 'user_id',
    erasure: 'removed',
`,
    replacement: `'通知偏好'),
    owner: 'user_id',
    erasure: 'kept',
    reason,
`,
    effect: 'The notification preferences of a deleted user are kept.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/notification-linkage/src/alerts.ts',
    fragment: 'isAlert: (payload: T) => boolean = () => true,',
    replacement: 'isAlert: (payload: T) => boolean = () => false,',
    effect: 'Most events raise no alert, so that their notification rules never send.',
    breaks: [],
    noticedBy: ['plugins/notification-linkage/test/linkage.test.ts'],
    only: ['N-167 N-169 N-178 the switch of the forum'],
  },
  {
    file: 'plugins/member-points/src/members/ledger-views.ts',
    fragment: `Null if the product caused it.' }),
  reason: nullable(text),
})`,
    replacement: `Null if the product caused it.' }),
})`,
    others: [
      {
        file: 'plugins/member-points/src/members/ledger-views.ts',
        fragment: 'const { accountId, asset, key, actor, reason } = entry',
        replacement: 'const { accountId, asset, key, actor } = entry',
      },
      {
        file: 'plugins/member-points/src/members/ledger-views.ts',
        fragment: 'accountId, asset, userId, key, actor, reason }',
        replacement: 'accountId, asset, userId, key, actor }',
      },
    ],
    effect: 'The ledger of operators does not contain the reason of an entry.',
    breaks: [],
    noticedBy: ['plugins/member-points/test/members.test.ts'],
    only: ['P-E05 P-E10 P-050 P-056 what operators see and do'],
  },
  {
    file: 'kernel/src/cli/program.ts',
    fragment: '{ needed: [plugin], setsUp, signal }',
    replacement: '{ needed: [plugin], setsUp }',
    effect: 'A signal during the start of the product for a command does not cancel the start.',
    breaks: [],
    noticedBy: ['kernel/test/cli.test.ts'],
    only: ['K-018 a signal during the start for a command'],
  },
  {
    file: 'plugins/iam/src/accounts/own-routes.ts',
    fragment: 'session: sessionTransportField,',
    replacement: "session: Type.Enum(['token', 'cookie']),",
    others: [
      {
        file: 'plugins/iam/src/accounts/own-routes.ts',
        fragment: `  respondWithSession,
  sessionTransportField,
`,
        replacement: `  respondWithSession,
`,
      },
    ],
    effect: 'A login that does not say how the session is returned is rejected.',
    breaks: [],
    noticedBy: ['plugins/iam/test/accounts.test.ts'],
    only: ['R-073 a login guard rejects before any hash'],
  },
  {
    file: 'plugins/iam/src/audit/audit-words.ts',
    fragment: 'labels: labels ?? null,',
    replacement: 'labels: null,',
    others: [
      {
        file: 'plugins/iam/src/audit/audit-words.ts',
        fragment: 'const { labels, page, nameFrom } =',
        replacement: 'const { page, nameFrom } =',
      },
    ],
    effect: 'The audit shows ids of targets in place of their names.',
    breaks: [],
    noticedBy: ['plugins/iam/test/audit-words.test.ts'],
    only: ['a target is an id with the labels and the page of its kind'],
  },
  {
    file: 'plugins/console/web/admin/shell/kept.ts',
    fragment: `const choices = this.#read()
    const others =`,
    replacement: `const choices = this.#choices
    const others =`,
    effect: 'A new favourite removes the choices that another tab has stored meanwhile.',
    breaks: [],
    noticedBy: ['plugins/console/test/saved-views.test.ts'],
    only: ['no choice removes what another tab has stored'],
  },
  {
    file: 'plugins/i18n/src/translator.ts',
    fragment: 'tag.split(/[-_]/, 1)[0]',
    replacement: "tag.split('-', 1)[0]",
    effect: 'A language tag with an underscore and another region or script, such as `zh_TW`, matches no language.',
    breaks: [],
    noticedBy: ['plugins/i18n/test/i18n.test.ts'],
    only: ['K-017 texts fall back'],
  },
  {
    file: 'plugins/web3-settlement/src/audit/audit-views.ts',
    fragment: 'riskLevel: risk.riskLevel,',
    replacement: "riskLevel: risk.risky ? ('high' as const) : ('none' as const),",
    effect: 'Low and medium risks are shown as high ones.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/audit.test.ts'],
    only: ['S-023 S-056 S-057 an audit finds every risk'],
  },
  {
    file: 'plugins/console/web/admin/own/role-matrix/review-dialog.tsx',
    fragment: "translate('roles.conflict-keep')",
    replacement: "translate('roles.conflict-drop')",
    effect: 'Both buttons for a conflict of a role say that the own changes are discarded.',
    breaks: [],
    noticedBy: ['plugins/console/test/role-matrix.test.ts'],
    only: ['E-15 the slower operator sees the changes'],
  },
  {
    file: 'plugins/member-points/src/declarations.ts',
    fragment: "export const messages = { en, 'zh-CN': zhCN }",
    replacement: 'export const messages = { en }',
    effect: 'Titles and errors of member points are in English for users with Chinese.',
    breaks: [],
    noticedBy: ['plugins/member-points/test/members.test.ts'],
    only: ['P-E01 P-E04 P-018 P-046 members check in'],
  },
  {
    file: 'plugins/quickstart-cleanup/src/cleanup-service.ts',
    fragment: 'if (targets.length > 0) throw new ResidualDataError',
    replacement: 'if (targets.length > 1) throw new ResidualDataError',
    effect: 'A removal of demo data that leaves rows of one type is reported as complete.',
    breaks: [],
    noticedBy: ['plugins/quickstart-cleanup/test/cleanup.test.ts'],
    only: ['I-179 I-180 I-181 I-183 a failing module is rolled back'],
  },
  {
    file: 'plugins/events/src/dispatcher.ts',
    fragment: "const giveUp = () => this.#givenUp.abort(new Error('The product stops'))",
    replacement: "const giveUp = () => this.#ended.abort(new Error('The product stops'))",
    effect: 'A stop waits for handlers beyond its deadline and does not release their events.',
    breaks: [],
    noticedBy: ['plugins/events/test/lease.test.ts'],
  },
  {
    file: 'plugins/iam/src/accounts/user-routes.ts',
    fragment: `      'iam.beyond-own-authority',
      'iam.last-administrator',
      'iam.organisation-out-of-scope',
      'iam.own-email',`,
    replacement: `      'iam.last-administrator',
      'iam.organisation-out-of-scope',
      'iam.own-email',`,
    effect: 'The API description does not say that a change of a user may exceed the authority of the caller.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/quickstart-cleanup/src/admin-pages.ts',
    fragment: `  ],
  actions: [
    it.action('postAdminInstallQuickstartCleanupsByModuleCode', {
      label: text('Remove demo data', '清理演示数据'),
      confirm: text(
        'Removes the demo data of {{moduleName}}. You cannot undo this.',
        '{{moduleName}} 的演示数据将被删除，无法恢复。',
      ),
      params: { moduleCode: 'moduleCode' },
      body: { moduleCode: 'moduleCode', dataType: 'dataType', confirmation: 'confirmation.confirmation' },
      when: { executable: true },
      type: 'confirmation.confirmation',
      tone: 'danger',
      answer: (run) => [
        run.flag('passed'),
        run.rows('modules', (row) => [
          row.text('moduleName', { title: moduleTitle }),
          row.status('outcome', outcomeTones, { labels: outcomes }),
          row.text('message'),
        ]),
      ],
    }),
  ],
}))
`,
    replacement: `  ],
}))
`,
    effect: 'The page of a module has no action that removes its demo data.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/install/src/admin/admin-service.ts',
    fragment: 'executionLogs: [...(await journal.newest(clampRecordLimit(undefined)))]',
    replacement: 'executionLogs: [...(await journal.newest(clampRecordLimit(1)))]',
    effect: 'The diagnostics contain only the newest record of the installation.',
    breaks: [],
    noticedBy: ['plugins/install/test/admin.test.ts'],
    only: ['I-165 I-166 I-167 I-168 I-170 diagnostics, sessions, exports'],
  },
  {
    file: 'plugins/database/src/entity-check.ts',
    fragment: "throw databaseError('PLINTH_DATABASE_ENTITY_SCHEMA', details)",
    replacement: "databaseError('PLINTH_DATABASE_ENTITY_SCHEMA', details)",
    effect: 'A product whose entities differ from the tables starts without an error.',
    breaks: [],
    noticedBy: ['test/author-mistakes.test.ts'],
    only: ['C-002 a typical mistake', 'entity-column-missing'],
  },
  {
    file: 'plugins/iam/src/sessions/login.ts',
    fragment: 'sort(([a], [b]) => (a < b ? -1 : 1))',
    replacement: 'sort(([a], [b]) => (a < b ? 1 : -1))',
    effect: 'The login guards run in the reverse order of their names.',
    breaks: [],
    noticedBy: ['plugins/iam/test/accounts.test.ts'],
    only: ['R-073 a login guard rejects before any hash'],
  },
  {
    file: 'plugins/console/web/app/notice.tsx',
    fragment: "<p>{message === '' ? translate('app.failure.unreachable') : message}</p>",
    replacement: '<p>{message}</p>',
    effect:
      'If the server does not respond, a dialog or the review of configuration changes shows an error without a text.',
    breaks: [],
    noticedBy: ['test/back-office/compose-faults.test.ts'],
  },
  {
    file: 'plugins/member-points/src/rules/rules.ts',
    fragment: 'findOne(RuleRow, { id })',
    replacement: 'findOne(RuleRow, { id, activeTo: noExpiryTime })',
    effect: 'An earlier version of a rule cannot be read by its id.',
    breaks: [],
    noticedBy: ['plugins/member-points/test/members.test.ts'],
    only: ['P-E05 P-E10 P-050 P-056 what operators see and do'],
  },
  {
    file: 'plugins/http/src/openapi/example-values.ts',
    fragment: '.filter(([, value]) => value !== undefined)',
    replacement: '.filter(([, value]) => Boolean(value))',
    effect: 'Examples in the API description omit members whose value is false, 0, an empty text or null.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/notification-channels/src/webhook/attempt.ts',
    fragment: 'return Math.max(0, (this.#limitedUntil.get(code) ?? 0) - this.#clock.monotonic())',
    replacement: 'return this.#limitedUntil.get(code) ?? 0',
    effect: 'A webhook provider that reached its rate limit once is shown as limited until the process ends.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/routing.test.ts'],
    only: ['an endpoint gets no more messages than its provider accepts'],
  },
  {
    file: 'plugins/webhook-providers/src/telegram.ts',
    fragment: `        'group chat was upgraded': { hint: 'recipient-moved' },
`,
    replacement: '',
    effect: 'If Telegram does not name the new chat, a moved chat is reported as an invalid message.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/wire.test.ts'],
  },
  {
    file: 'plugins/notification/src/channels/channel-routes.ts',
    fragment: `summary: 'Get a channel or a provider with its required keys',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },`,
    replacement: `summary: 'Get a channel or a provider with its required keys',
    access: { permission: permissionCodes.messageSend, scope: 'caller' },`,
    effect: 'An operator who may see the channels cannot open one of them.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'kernel/src/cli/dev.ts',
    fragment: "withSupervisorMode(process.env, 'dev')",
    replacement: "withSupervisorMode(process.env, 'start')",
    effect: 'The command `plinth dev` does not learn which packages the product loads, so it does not watch them.',
    breaks: [],
    noticedBy: ['kernel/test/dev.test.ts'],
    only: ['plinth dev restarts after a saved change'],
  },
  {
    file: 'plugins/console/src/admin/overview.ts',
    fragment: `  { query = {}, range, at, by, names, currency, lines }: OperationChart,
  { path, ...operation }: Operation,
  locale: string,
) => ({
  path,
  at,
  ranges: [{ id: 'all', title: '', query }],
`,
    replacement: `  { range, at, by, names, currency, lines }: OperationChart,
  { path, ...operation }: Operation,
  locale: string,
) => ({
  path,
  at,
  ranges: [{ id: 'all', title: '', query: {} }],
`,
    effect: 'A chart of an operation ignores its declared query parameters.',
    breaks: [],
    noticedBy: ['test/back-office/admin-pages.test.ts'],
    only: ['every chart shows members of its operation or a metric of the product'],
  },
  {
    file: 'plugins/web3/src/chains/chain-routes.ts',
    fragment: `      'web3.provider-url-missing',
      'web3.provider-url-refused',
      'web3.version-conflict',`,
    replacement: `      'web3.provider-url-refused',
      'web3.version-conflict',`,
    effect: 'The API description of the check of a chain does not name the error for a missing address.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/iam/src/passwords/password-hash.ts',
    fragment: 'return { matches: false, outdated: false }',
    replacement: 'return { matches: true, outdated: false }',
    effect: 'An account with a damaged password hash accepts every password.',
    breaks: [],
    noticedBy: ['plugins/iam/test/rules.test.ts'],
    only: ['hashes verify only their own password'],
  },
  {
    file: 'plugins/notification/src/channels/channel-verifier.ts',
    fragment: `    return result
`,
    replacement: `    return { code, ...summary, reason: null, detail: null }
`,
    effect: 'A failed check of a channel gives no reason.',
    breaks: [],
    noticedBy: ['plugins/notification-channels/test/verification.test.ts'],
  },
  {
    file: 'config-schema/src/formats.ts',
    fragment: '  GB: 1e9,',
    replacement: '  GB: 2 ** 30,',
    effect: 'A size in GB is larger than configured.',
    breaks: [],
    noticedBy: ['config-schema/test/formats.test.ts'],
    only: ['decimal and binary units of bytes are exact and differ'],
  },
  {
    file: 'plugins/events/src/outbox-store.ts',
    fragment: `query<{ position: unknown }>(headOf + lock, [key])
      if (locked !== undefined) return exactInteger(locked.position)`,
    replacement: `query<{ id: unknown }>(headOf + lock, [key])
      if (locked !== undefined) return exactInteger(locked.id)`,
    effect: 'Events that wait for an earlier event of their key are not put aside, so every poll reads them again.',
    breaks: [],
    noticedBy: ['plugins/events/test/turns.test.ts'],
    only: ['K-013 a poll and a publication cost the same, however many events wait'],
  },
  {
    file: 'plugins/notification-rules/src/rule-views.ts',
    fragment: `    complete: Type.Integer({
      minimum: 0,
      description: 'Number of these rules that have a channel or a recipient for the escalation.',
    }),
`,
    replacement: '',
    effect: 'The summary of the rules does not contain how many escalations are complete.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'kernel/src/configuration/config-values.ts',
    fragment: 'return conditions.every(({ key, is })',
    replacement: 'return conditions.some(({ key, is })',
    effect: 'A value is reported as insecure although another key makes it safe.',
    breaks: [],
    noticedBy: ['kernel/test/config-values.test.ts'],
    only: ['a value that is unsafe in production is listed with its reason while it applies'],
  },
  {
    file: 'plugins/quickstart-cleanup/src/routes.ts',
    fragment: `response: overviewView,
    reasons: ['quickstart-cleanup.disabled', 'quickstart-cleanup.module-unknown'],`,
    replacement: `response: overviewView,
    reasons: ['quickstart-cleanup.module-unknown'],`,
    effect: 'The API description of the list of demo data does not say that the cleanup may be disabled.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/web3/src/signatures/wallet-verifier.ts',
    fragment: `  const { address, typedData, signature, chainId } = signed
  const read = digestOf(typedData)
  if (read === undefined) return { result: rejected(address, 'typed-data-malformed') }
  const { document, digest } = read
  const domain = domainOf(document)
  const known = { domain, primaryType: document.primaryType }
  const isElsewhere = chainId !== undefined && domain.chainId !== undefined && domain.chainId !== String(chainId)
  if (isElsewhere) return { result: { ...rejected(address, 'chain-id-mismatch'), ...known } }
`,
    replacement: `  const { address, typedData, signature } = signed
  const read = digestOf(typedData)
  if (read === undefined) return { result: rejected(address, 'typed-data-malformed') }
  const { document, digest } = read
  const domain = domainOf(document)
  const known = { domain, primaryType: document.primaryType }
`,
    effect: 'Typed data that was signed for another chain is accepted.',
    breaks: [],
    noticedBy: ['plugins/web3/test/open-endpoints.test.ts'],
  },
  {
    file: 'plugins/iam/src/admin-pages.ts',
    fragment: `    {
      title: text('Details', '详情'),
      columns: [
        it.rows('changes', (change) => [
          change.described('subject', { title: text('Field', '字段') }),
          change.described('before', { title: text('Before', '更改前') }),
          change.described('after', { title: text('After', '更改后') }),
        ]),
      ],
    },
`,
    replacement: '',
    effect: 'The page of an audit entry does not show what was changed.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/iam/src/tasks.ts',
    fragment: 'const keptAfterEndMs = 86_400_000',
    replacement: 'const keptAfterEndMs = 86_400',
    effect: 'Ended sessions are removed after a minute and a half instead of a day.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/money/src/ledger/posting-queue.ts',
    fragment: `    if (keys.has(idemHash)) later.push(one)
    else group.push(one)
`,
    replacement: `    group.push(one)
`,
    effect: 'Two concurrent postings with the same key are both carried out.',
    breaks: [],
    noticedBy: ['plugins/money/test/postings.test.ts'],
    only: ['K-014 postings', 'M8 fifty callers with one key'],
  },
  {
    file: 'plugins/http/src/server/door-server.ts',
    fragment: 'const maxTicks = 5_000',
    replacement: 'const maxTicks = 50',
    effect: 'A stop resets connections that still wait if more than 50 of them arrived at the same time.',
    breaks: [],
    noticedBy: ['plugins/http/test/server.test.ts'],
    only: ['K-018 closing the server serves all connections'],
  },
  {
    file: 'plugins/console/web/admin/shell/shell.tsx',
    fragment: `  const [last, setLast] = useState<Error | null>(null)
  useEffect(() => {
    if (isThere) setLast(null)
    else if (failure !== null) setLast(failure)
  }, [failure, isThere])
  return failure ?? last
`,
    replacement: `  const [, setLast] = useState<Error | null>(null)
  useEffect(() => {
    if (isThere) setLast(null)
    else if (failure !== null) setLast(failure)
  }, [failure, isThere])
  return failure
`,
    effect: 'During a retry the page is empty instead of saying that the server does not respond.',
    breaks: [],
    noticedBy: ['plugins/console/test/admin.test.ts'],
    only: ['an unreachable server is reported, also during a retry'],
  },
  {
    file: 'plugins/console/web/admin/overview/tiles.tsx',
    fragment: `const api = useApi()
  const { timeZone } = useSite()`,
    replacement: `const api = useApi()
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()`,
    effect: 'The numbers of the overview count days in the time zone of the browser, not of the site.',
    breaks: [],
    noticedBy: ['test/back-office/figures.test.ts'],
    only: ['the overview counts the days of the site'],
  },
]

/** Drawn lines without a change, with the reason. */
export const leftOut20261130: readonly { readonly line: string; readonly reason: string }[] = [
  {
    line: 'plugins/template/src/compile/parse.ts:258',
    reason: 'The head of a function; its behaviour is in the lines below.',
  },
  {
    line: 'plugins/console/web/field/rule-text.ts:48',
    reason: 'A parameter of a function; another name is an error of types.',
  },
  {
    line: 'plugins/system-config/src/item-view.ts:107',
    reason: 'The head of a function; its behaviour is in the lines below.',
  },
  {
    line: 'plugins/approval/src/approval-routes.ts:65',
    reason: 'Gives a name to the query of the request; without it the file is an error of types.',
  },
  { line: 'plugins/http/src/config.ts:207', reason: 'A text that describes a configuration key.' },
  {
    line: 'plugins/notification/src/channels/channel-routes.ts:56',
    reason: 'A text that describes a member of a response.',
  },
  {
    line: 'plugins/system-config/src/secrets/rotation.ts:92',
    reason: 'Creates the entity manager of the function; without it the file is an error of types.',
  },
  {
    line: 'plugins/console/web/field/value-field.tsx:133',
    reason: 'The name of a function for texts; without it the file is an error of types.',
  },
  {
    line: 'plugins/webhook-providers/src/discord.ts:31',
    reason: 'The head of a function; its behaviour is in the lines below.',
  },
  {
    line: 'plugins/async-task/src/entities.ts:124',
    reason: 'The head of the returned object; its members are in the lines below.',
  },
  {
    line: 'plugins/install/src/preflight/host-checks.ts:83',
    reason: 'The head of a function; its behaviour is in the lines below.',
  },
  {
    line: 'migrations/src/apply.ts:108',
    reason: 'Names for the lines below; without one the file is an error of types.',
  },
  {
    line: 'plugins/web3-settlement/src/planning/fingerprint.ts:98',
    reason:
      'The head of a call; its arguments are in the lines below, in the canonical order, so JSON.stringify would give the same text.',
  },
  {
    line: 'kernel/src/verify/errors.ts:27',
    reason: 'A text for authors; without its placeholder the call that gives the reason is an error of types.',
  },
  {
    line: 'plugins/inbox/src/items/content-reader.ts:28',
    reason: 'The only assignment of the member; without it the file is an error of types.',
  },
]
