import type { RecordedChange } from './recorded-change.ts'

/**
 * One change for each line of `node test/proofs/draw-lines.ts --seed 20261202 --count 68`, in the order of the draw,
 * without the lines of `leftOut20261202` and the change of `unnoticed20261202`. The last five changes are an exception:
 * they were moved here later. All changes were written before the first one was tested. Three of the 60 have no effect,
 * of which two were left out afterwards. Before tests were added, 42 of the other 57 were noticed: by the named file, by
 * another file of the package, or by `test/generated-pages.test.ts`.
 */
export const drawn20261202: readonly RecordedChange[] = [
  {
    file: 'plugins/http/src/metrics.ts',
    fragment: `    collectDefaultMetrics({ register: ofProcess })
  }
  for (const metric of ofProcess.getMetricsAsArray()) registry.registerMetric(metric as unknown as Metric)
`,
    replacement: `    collectDefaultMetrics({ register: ofProcess })
    for (const metric of ofProcess.getMetricsAsArray()) registry.registerMetric(metric as unknown as Metric)
  }
`,
    effect: 'Only the first product of a process has metrics of the process.',
    breaks: [],
    noticedBy: ['plugins/http/test/process-metrics.test.ts'],
  },
  {
    file: 'plugins/quickstart-cleanup/src/contract.ts',
    fragment: 'state: Type.Enum([...moduleStates], {',
    replacement: "state: Type.Enum([...moduleStates, 'removed'], {",
    effect: 'The API description lists a state of demo data that does not exist.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/web3/src/declarations.ts',
    fragment: `    facts: {
      name: { title: text('Name', '名称') },
      chainId: { title: text('Chain ID', '链 ID') },
    },
`,
    replacement: `    facts: {},
`,
    effect: 'The audit does not show the name and the id of a chain with a title.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/web3/src/chains/json-rpc.ts',
    fragment: `    if (response.status === 429) throw new RpcError('rate-limited')
`,
    replacement: '',
    effect: 'A provider that limits the requests is reported as one that returns a wrong status.',
    breaks: [],
    noticedBy: ['plugins/web3/test/chains.test.ts'],
    only: ['every failure of a provider: its data is not used'],
  },
  {
    file: 'plugins/notification/src/send-log/recorder.ts',
    fragment: `    this.#weight += weight - entry.weight
    entry.weight = weight
`,
    replacement: `    this.#weight += weight - entry.weight
`,
    effect: 'The size of the waiting rows of the send log is counted too high, so sends wait too early.',
    breaks: [],
    noticedBy: ['plugins/notification/test/send-recorder.test.ts'],
    only: ['records that were written make room'],
  },
  {
    file: 'plugins/notification-channels/src/websocket/connections/upkeep.ts',
    fragment: `    void this.#repeat('heartbeat', heartbeatMs, (sockets) => this.#beat(sockets))
    void this.#repeat('sessions', sessionCheckMs, (sockets) => this.#checkSessions(sockets))
`,
    replacement: `    void this.#repeat('heartbeat', sessionCheckMs, (sockets) => this.#beat(sockets))
    void this.#repeat('sessions', heartbeatMs, (sockets) => this.#checkSessions(sockets))
`,
    effect: 'The interval of the heartbeat and that of the check of sessions are exchanged.',
    breaks: [],
    noticedBy: ['plugins/notification-channels/test/websocket-effects.test.ts'],
  },
  {
    file: 'plugins/storage/src/routes.ts',
    fragment: `      'storage.url-expired',
      'storage.url-revoked',
`,
    replacement: `      'storage.url-expired',
`,
    effect: 'The API description does not say that a signed URL may be revoked.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/iam/src/sessions/identity-service.ts',
    fragment: 'return common ?? null',
    replacement: 'return null',
    effect: 'The organisation that the recipients of a message share is not found.',
    breaks: [],
    noticedBy: ['plugins/iam/test/data-scope.test.ts'],
    only: ['A5 no administrator can widen their own scope'],
  },
  {
    file: 'plugins/console/web/admin/overview/tile-data.ts',
    fragment: 'found.filter(({ value }) => value !== 0n)',
    replacement: 'found.filter(({ value }) => value > 0n)',
    effect: 'The overview does not show a currency whose total is negative.',
    breaks: [],
    noticedBy: ['plugins/console/test/overview-range.test.ts'],
  },
  {
    file: 'plugins/http/src/envelope.ts',
    fragment: "{ [noSniff.name]: noSniff.value, 'content-type': envelopeType, 'content-length': length }",
    replacement: "{ 'content-type': envelopeType, 'content-length': length }",
    effect: 'A response to a request that is rejected before its route has no header against content sniffing.',
    breaks: [],
    noticedBy: ['plugins/http/test/transport.test.ts'],
    only: ['K-003 requests that Node.js itself rejects'],
  },
  {
    file: 'plugins/i18n/src/translator.ts',
    fragment: 'returnEmptyString: true,',
    replacement: 'returnEmptyString: false,',
    effect: 'A text that is empty in a language is shown as its key.',
    breaks: [],
    noticedBy: ['plugins/i18n/test/i18n.test.ts'],
  },
  {
    file: 'plugins/install/src/settings/settings-writer.ts',
    fragment: "if (!changed.has('database')) return settings",
    replacement: "if (!changed.has('cache')) return settings",
    effect: 'A new database is written to the settings without a connection test.',
    breaks: [],
    noticedBy: ['plugins/install/test/write.test.ts'],
  },
  {
    file: 'plugins/async-task/src/task-rows.ts',
    fragment: 'return (await this.#db.execute(statement, [true, id])) > 0',
    replacement: 'return (await this.#db.execute(statement, [true, id])) >= 0',
    effect: 'A task that has ended is reported as being cancelled.',
    breaks: [],
    noticedBy: ['plugins/async-task/test/tasks.test.ts'],
  },
  {
    file: 'plugins/sms/src/config.ts',
    fragment: "url('Twilio', 'https://api.twilio.com/')",
    replacement: "url('Twilio', 'https://api.twilio.com/v1/')",
    effect: 'Messages by Twilio fail with the default URL.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/money/src/admin-pages.ts',
    fragment: `    row.time('createdAt'),
    row.time('paidAt'),
  ]
  return {
    id: 'money.payment-orders',`,
    replacement: `    row.time('createdAt'),
  ]
  return {
    id: 'money.payment-orders',`,
    effect: 'The list of payment orders does not show when an order was paid.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/reviews/review-views.ts',
    fragment: `  }),
  chainName: nullable(text),
  chainId: nullable(Type.Integer()),
  explorer`,
    replacement: `  }),
  chainId: nullable(Type.Integer()),
  explorer`,
    effect: 'A plan does not contain the name of its chain.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/console/src/admin-pages.ts',
    fragment: `    where: { outcome: 'failed' },
    page: { id: 'console.health' },`,
    replacement: `    where: { outcome: 'failed' },
    page: { id: 'console.database' },`,
    effect: 'The notice of failed health checks opens the page of the database.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/install/src/form/form-checks.ts',
    fragment: "if (required && text === '' && !mayBeEmpty?.(form)) return",
    replacement: "if (required && text === '' && mayBeEmpty?.(form)) return",
    effect: 'The form of the installation accepts an empty field that is required.',
    breaks: [],
    noticedBy: ['plugins/install/test/form.test.ts'],
  },
  {
    file: 'kernel/src/plan-declarations.ts',
    fragment: 'other: other.key, env: other.env }',
    replacement: 'other: key, env: other.env }',
    effect: 'A conflict of two configuration keys names one of them twice.',
    breaks: [],
    noticedBy: ['kernel/test/plan.test.ts'],
  },
  {
    file: 'kernel/src/cli/load-product.ts',
    fragment: "existsSync(join(directory, 'package.json')) || parent === directory",
    replacement: "existsSync(join(directory, 'package.json'))",
    effect: 'A module outside of any package ends the program with a stack overflow.',
    breaks: [],
    noticedBy: ['kernel/test/dev.test.ts'],
    only: ['a module outside of any package belongs to the root'],
  },
  {
    file: 'plugins/events/src/routes.ts',
    fragment: `    method: 'GET',
    path: \`\${path}/:id\`,`,
    replacement: `    method: 'POST',
    path: \`\${path}/:id\`,`,
    effect: 'An event cannot be read at its documented path.',
    breaks: [],
    noticedBy: ['plugins/events/test/admin.test.ts'],
  },
  {
    file: 'plugins/notification/src/facade/send-routes.ts',
    fragment: `      'notification.message-empty',
      'notification.no-queue',
      'notification.not-before-too-far',
      'notification.not-durable',
      'notification.recipient-missing',
    ],
    async handler(request, { notification, administrators, identity }) {`,
    replacement: `      'notification.no-queue',
      'notification.not-before-too-far',
      'notification.not-durable',
      'notification.recipient-missing',
    ],
    async handler(request, { notification, administrators, identity }) {`,
    effect: 'The API description does not say that an empty message is rejected.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/console/src/admin/frames/frame-faults.ts',
    fragment: "{ part: 'html', text: /<script/i,",
    replacement: "{ part: 'html', text: /<script>/i,",
    effect: 'A script with attributes in the HTML of a page is not reported to the author.',
    breaks: [],
    noticedBy: ['plugins/console/test/frame-pages.test.ts'],
  },
  {
    file: 'plugins/iam/src/accounts/views.ts',
    fragment: `  description: nullable(Type.String()),
  dataScope: dataScopeSchema,
  builtIn`,
    replacement: `  description: nullable(Type.String()),
  dataScope: nullable(dataScopeSchema),
  builtIn`,
    effect: 'The API description says that a role may have no data scope.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/notification/src/facade/send-routes.ts',
    fragment: `      'notification.not-durable',
      'notification.recipient-missing',
    ],
    async handler(request, { notification, administrators, identity }) {`,
    replacement: `      'notification.recipient-missing',
    ],
    async handler(request, { notification, administrators, identity }) {`,
    effect: 'The API description does not say that a message for later needs a durable queue.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/rate-limit-stores/src/purge-pace.ts',
    fragment: 'while (swept.size > 0) {',
    replacement: 'while (swept.size === 0) {',
    effect: 'Expired keys of rate limits are never removed from the memory.',
    breaks: [],
    noticedBy: ['plugins/rate-limit-stores/test/idle.test.ts'],
  },
  {
    file: 'kernel/src/cli/config-commands.ts',
    fragment: `use \${entry.deprecated.replacement ?? 'no replacement'}`,
    replacement: `use \${entry.key}`,
    effect: 'The command `plinth config explain` names the deprecated key itself as its replacement.',
    breaks: [],
    noticedBy: ['kernel/test/cli.test.ts'],
  },
  {
    file: 'plugins/console/web/install/steps/configuration-step.tsx',
    fragment: `onClick={onBack}>
            {translate('app.back')}`,
    replacement: `onClick={onBack}>
            {translate('configuration.next')}`,
    effect: 'The button that leads back to the environment has the title of another button.',
    breaks: [],
    noticedBy: ['plugins/console/test/install/embedded.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/execution/auto-retry.ts',
    fragment: `      await this.#giveUp(log, reviewer, ['approval-rejected'])
      return undefined
`,
    replacement: `      await this.#giveUp(log, reviewer, ['approval-rejected'])
`,
    effect: 'An automatic retry settles an order although its approval was rejected.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/automatic.test.ts'],
    only: ['an automatic retry needs the permission'],
  },
  {
    file: 'plugins/money/src/ledger/ledger-reader.ts',
    fragment: `      occurredAt: row.occurredAt,
      createdAt: row.createdAt,
      entries:`,
    replacement: `      occurredAt: row.createdAt,
      createdAt: row.createdAt,
      entries:`,
    effect: 'A journal shows the time of its recording as the time of the event.',
    breaks: [],
    noticedBy: ['plugins/money/test/postings.test.ts'],
    only: ['K-014 postings'],
  },
  {
    file: 'plugins/iam/src/admin-pages.ts',
    fragment: `    it.action('getAdminIamUsersByIdPersonalDataFile', {
      label: text('Export all data', '导出全部数据'),
      params: { id: 'id' },
    }),
`,
    replacement: '',
    effect: 'The page of a user has no action that exports the personal data.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'kernel/src/plan.ts',
    fragment: 'const owner = owners.get(point)',
    replacement: 'const owner = owners.get(point) ?? id',
    effect: 'A contribution to an extension point that does not exist is not reported.',
    breaks: [],
    noticedBy: ['kernel/test/plan.test.ts'],
  },
  {
    file: 'plugins/http/src/schemas/schema-builders.ts',
    fragment: 'Type.Object({ version: Type.Optional(version) })',
    replacement: 'Type.Object({ version })',
    effect: 'A deletion that does not name a version is rejected.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/amounts.ts',
    fragment: "const kept = part.replace(/0+$/, '')",
    replacement: 'const kept = part',
    effect: 'An amount with additional zeros, such as 1.500 for two decimal places, is rejected.',
    breaks: [],
    noticedBy: ['plugins/console/test/amounts.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/planning/checked-facts.ts',
    fragment: `    holds: ({ receipt, logs }) =>
      receipt === null || (Array.isArray(receipt['logs']) && logs.length === receipt['logs'].length),`,
    replacement: "    holds: ({ receipt }) => receipt === null || Array.isArray(receipt['logs']),",
    effect: 'A receipt with an entry that is no log is accepted.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/planner.test.ts'],
  },
  {
    file: 'plugins/events/src/neutral-events.ts',
    fragment: "event('mall.order.pending-fulfilment',",
    replacement: "event('mall.order.pending-fulfillment',",
    effect: 'The documented event of an order that waits for delivery does not exist.',
    breaks: [],
    noticedBy: ['examples/mall/mall.test.ts'],
  },
  {
    file: 'plugins/console/web/install/wizard.tsx',
    fragment: `            setStep('process')
            void installation.run(ready)
          }}`,
    replacement: `            setStep('process')
          }}`,
    effect: 'The installation does not begin after it was confirmed.',
    breaks: [],
    noticedBy: ['plugins/console/test/install/embedded.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/planning/plan-input.ts',
    fragment: '(transactionHash ?? order?.transactionHash) || undefined',
    replacement: '(order?.transactionHash ?? transactionHash) || undefined',
    effect: 'A transaction that an operator names is ignored if the order already has one.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
    only: ['S-004 S-010 S-025 S-027'],
  },
  {
    file: 'plugins/web3/src/chains/observation.ts',
    fragment: `  const isKnown = one.transaction !== null && (one.transaction.blockHash ?? blockHash) === blockHash
  const block = blocks.get(blockNumber) ?? null
  if (isError(block)) return block
  if (!isKnown || block === null) return 'inconsistent'`,
    replacement: `  const block = blocks.get(blockNumber) ?? null
  if (isError(block)) return block
  if (block === null) return 'inconsistent'`,
    effect: 'A provider whose receipt and transaction name different blocks is believed.',
    breaks: [],
    noticedBy: ['plugins/web3/test/provider-faults.test.ts'],
  },
  {
    file: 'plugins/money/src/ledger/checks.ts',
    fragment: 'const refId = reference?.id ?? null',
    replacement: 'const refId = reference?.type ?? null',
    effect: 'A journal refers to another object than the one of its posting.',
    breaks: [],
    noticedBy: ['plugins/money/test/admin.test.ts'],
  },
  {
    file: 'plugins/http/src/routes/declaration.ts',
    fragment: 'return { id: rateLimitedAnnotation, value: limit }',
    replacement: "return { id: rateLimitedAnnotation, value: { ...limit, keyStrategy: 'USER_ROUTE' } }",
    effect: 'A limit of a route counts by user and route, whatever key strategy it declares.',
    breaks: [],
    noticedBy: ['plugins/rate-limit/test/declared-options.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/entities.ts',
    fragment: `  personalTable(db, ReviewRow, {
    title: bilingual('Settlement reviews that the user made', '用户提交的结算复核'),
    owner: 'actor_user_id',
    // Omitted, because the plan describes the order of another user.
    omit: ['planSnapshot'],
    erasure: 'kept',
    reason,
  }),
`,
    replacement: '',
    effect: 'The export of personal data does not contain the reviews that a user made.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'plugins/http/src/config.ts',
    fragment: `    default: 1_000,
    minimum: 8,`,
    replacement: `    default: 100,
    minimum: 8,`,
    effect: 'Without a setting, requests are rejected when 100 others wait.',
    breaks: [],
    noticedBy: ['test/generated-pages.test.ts'],
  },
  {
    file: 'kernel/src/cli/verify-command.ts',
    fragment: `            folder,
            directory,
            databases`,
    replacement: `            folder: directory,
            directory: folder,
            databases`,
    effect: 'The command `plinth plugin verify` checks the current folder in place of the folder of the plugin.',
    breaks: [],
    noticedBy: ['test/verify/verify.test.ts'],
  },
  {
    file: 'plugins/member-points/src/admin/admin-routes.ts',
    fragment: 'const { id, asset, status, scanned, expired, points, refused } = batch',
    replacement: 'const { id, asset, status, scanned: expired, expired: scanned, points, refused } = batch',
    effect: 'A run of the expiry shows the number of expired lots as the number of checked ones.',
    breaks: [],
    noticedBy: ['plugins/member-points/test/members.test.ts'],
    only: ['P-E05 P-E10 P-050 P-056 what operators see and do'],
  },
  {
    file: 'plugins/system-config/src/config-centre.ts',
    fragment: `    const values = new Map(
      [...stored.values].map(([key, row]) => [key, { ...row, destination: unbound.get(key) ?? row.destination }]),
    )
`,
    replacement: `    const { values } = stored
`,
    effect: 'Secrets that an earlier release stored have no destination until the next start.',
    breaks: [],
    noticedBy: ['plugins/system-config/test/destinations.test.ts'],
  },
  {
    file: 'plugins/http/src/server/overload.ts',
    fragment: 'Math.max(1, Math.ceil((this.#freeAt - now) / 1000))',
    replacement: 'Math.max(0, Math.floor((this.#freeAt - now) / 1000))',
    effect: 'A caller that is rejected during an overload is told to retry at once.',
    breaks: [],
    noticedBy: ['plugins/http/test/overload.test.ts'],
  },
  {
    file: 'plugins/iam/src/accounts/account-service.ts',
    fragment: `      await userInScope(em, userId, actor)
      await this.#parts.rules.assertMayActOn(em, userId, actor)
      const bound = `,
    replacement: `      await userInScope(em, userId, actor)
      const bound = `,
    effect: 'An operator can bind an own wallet to an account with more permissions.',
    breaks: [],
    noticedBy: ['plugins/iam/test/accounts.test.ts'],
    only: ['A5 no user can read, change or grant more'],
  },
  {
    file: 'plugins/template/src/compile/variables.ts',
    fragment: '[...findVariableUses(programs)].filter(([, isNeeded]) => isNeeded).map',
    replacement: '[...findVariableUses(programs)].map',
    effect: 'A variable that a template only uses in a condition must be sent.',
    breaks: [],
    noticedBy: ['plugins/template/test/compile.test.ts'],
  },
  {
    file: 'plugins/scheduler/src/routes.ts',
    fragment: `    summary: 'Get a scheduled task with its last and next run',
    access: view,`,
    replacement: `    summary: 'Get a scheduled task with its last and next run',
    access: 'public',`,
    effect: 'Everybody can read a scheduled task.',
    breaks: [],
    noticedBy: ['plugins/scheduler/test/admin.test.ts'],
  },
  {
    file: 'plugins/template/src/render/render-program.ts',
    fragment: "run(holds(value) === (block === 'if') ? body : otherwise, frame)",
    replacement: 'run(holds(value) ? body : otherwise, frame)',
    effect: 'The block `unless` of a template behaves like `if`.',
    breaks: [],
    noticedBy: ['plugins/template/test/render.test.ts'],
  },
  {
    file: 'plugins/console/src/admin/field-choices.ts',
    fragment: '.filter((one) => !(one in operation.params))',
    replacement: '.filter((one) => !(one in params))',
    effect: 'A path parameter that an operation does not have is not reported to the author.',
    breaks: [],
    noticedBy: ['plugins/console/test/linked-fields.test.ts'],
  },
  {
    file: 'plugins/rate-limit-stores/src/memory.ts',
    fragment: 'if ((this.#endMs[slot] ?? 0) > nowMs) continue',
    replacement: 'if ((this.#endMs[slot] ?? 0) < nowMs) continue',
    effect: 'The purge removes the counters that are valid and keeps those that have expired.',
    breaks: [],
    noticedBy: ['plugins/rate-limit-stores/test/memory.test.ts'],
    only: ['a sweep removes the windows that have expired'],
  },
  {
    file: 'plugins/console/src/page-source.ts',
    fragment: 'const files = filesBelow(sources)',
    replacement: "const files = filesBelow(join(sources, 'admin'))",
    effect: 'After a change of the installation pages, the old pages are shown.',
    breaks: [],
    noticedBy: ['plugins/console/test/pages.test.ts'],
    only: ['I-197 changed sources are built again'],
  },
  {
    file: 'plugins/notification-channels/src/websocket/pushes/channel.ts',
    fragment: `    if (signal.aborted) give()
    else signal.addEventListener('abort', give, { signal: settled.signal })`,
    replacement: "    signal.addEventListener('abort', give, { signal: settled.signal })",
    effect: 'A push whose time has already expired is not ended.',
    breaks: [],
    noticedBy: ['plugins/notification-channels/test/websocket-pushes.test.ts'],
  },
  {
    file: 'plugins/system-config/src/secrets/secret-box.ts',
    fragment: `    const key = await this.find()
    if (key === undefined) throw new Error('the stored key is no 32 bytes`,
    replacement: `    const key = this.#now()
    if (key === undefined) throw new Error('the stored key is no 32 bytes`,
    effect: 'A key that another instance has just created is reported as invalid.',
    breaks: [],
    noticedBy: ['plugins/system-config/test/secrets.test.ts'],
    only: ['a plugin key that another instance creates first'],
  },
  {
    file: 'plugins/web3/src/chains/json-rpc.ts',
    fragment: 'const maxInFlight = 4',
    replacement: 'const maxInFlight = 40',
    effect: 'A provider gets ten times as many requests at the same time.',
    breaks: [],
    noticedBy: ['plugins/web3/test/chains.test.ts'],
    only: ['a provider gets at most four requests'],
  },
]

/**
 * A change of the draw that no test can notice. `npm run proof:changes` does not apply it. Claims run while the account
 * is locked. Each transaction that changes the sums of an order also locks this account before it ends, so no other
 * transaction can commit new sums between the read and the update of a claim. The update itself locks the row.
 */
export const unnoticed20261202: readonly RecordedChange[] = [
  {
    file: 'plugins/member-points/src/lots/lot-claims.ts',
    fragment: `    await this.#db.execute(\`update \${orderTable} set version = version + 1 where order_no = ?\`, [orderNo])
    const [row]`,
    replacement: '    const [row]',
    effect: 'Two refunds of one order at the same time take back the same points twice.',
    breaks: [],
    noticedBy: ['plugins/member-points/test/rewards.test.ts'],
  },
]

/** Drawn lines without a change, with the reason. */
export const leftOut20261202: readonly { readonly line: string; readonly reason: string }[] = [
  {
    line: 'plugins/http/src/schemas/list.ts:71',
    reason: 'The head of the returned object; its members are in the lines below.',
  },
  { line: 'plugins/open-platform/src/config.ts:24', reason: 'A text that describes a configuration key.' },
  {
    line: 'plugins/install/src/wizard/guarded-route.ts:86',
    reason: 'A name for the lines below; without it the file is an error of types.',
  },
  { line: 'plugins/http/src/openapi/client-types.ts:22', reason: 'A comment in a generated file.' },
  {
    line: 'plugins/web3-settlement/src/reviews/review-logs.ts:169',
    reason: 'Returns what the lines above have found; another value is an error of types.',
  },
  {
    line: 'kernel/src/running-product.ts:196',
    reason: 'Only passes its argument on; another one is an error of types.',
  },
  { line: 'plugins/console/web/install/steps/plan-dialog.tsx:87', reason: 'An icon that decorates a button.' },
  { line: 'config-schema/src/schema-check.ts:40', reason: 'Fills a cache; the result is the same without it.' },
  {
    line: 'plugins/notification-channels/src/webhook/verification.ts:28',
    reason: 'Only the URL of the sample message is used, so another subject has no effect.',
  },
  {
    line: 'plugins/webhook-providers/src/telegram.ts:149',
    reason: 'Repeated the general meaning of the HTTP status, so its removal had no effect. The line was deleted.',
  },
]
