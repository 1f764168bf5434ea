import type { RecordedChange } from './recorded-change.ts'

/**
 * One change for each line of `node test/proofs/draw-lines.ts --seed 20261127 --count 134`, in the order of the draw,
 * without the lines of `leftOut20261127`. After line 73 only lines of browser pages were taken, so that there are eight
 * of them. All changes were written before the first one was tested. They are not in `recordedChanges` yet, because no
 * test notices some of them.
 */
export const drawn20261127: readonly RecordedChange[] = [
  {
    file: 'plugins/web3-settlement/src/parts.ts',
    fragment: `  accounts,
  approvals,`,
    replacement: '  approvals,',
    effect: 'The settlement plugin does not receive the service of accounts.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
  },
  {
    file: 'plugins/notification-channels/src/mail/unsubscribe.ts',
    fragment: "['application/x-www-form-urlencoded', 'multipart/form-data']",
    replacement: "['application/x-www-form-urlencoded']",
    effect: 'A mail program that sends a multipart form cannot unsubscribe its user.',
    breaks: [],
    noticedBy: ['plugins/notification-channels/test/mail.test.ts'],
  },
  {
    file: 'plugins/console/web/text/texts.ts',
    fragment: 'for (const [name, value] of Object.entries(tree)) {',
    replacement: 'for (const [name, value] of Object.entries(tree).slice(1)) {',
    effect: 'The pages show the key instead of the first text of each group.',
    breaks: [],
    noticedBy: ['plugins/console/test/texts.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/reviews/review-views.ts',
    fragment: "reason: nullable(Type.String({ description: 'Blocking reason, or reason of the rejection.' })),",
    replacement: "reason: Type.String({ description: 'Blocking reason, or reason of the rejection.' }),",
    effect: 'A batch in which a review is settled ends with an error.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
  },
  {
    file: 'plugins/rate-limit/src/operations.ts',
    fragment: "[!metricsAvailable, hint('no-metrics')]",
    replacement: "[metricsAvailable, hint('no-metrics')]",
    effect: 'The snapshot says that metrics are missing when the product serves them.',
    breaks: [],
    noticedBy: ['plugins/rate-limit/test/operations.test.ts'],
  },
  {
    file: 'migrations/src/compile.ts',
    fragment: "const sha256 = (text: string) => createHash('sha256')",
    replacement: "const sha256 = (text: string) => createHash('sha512')",
    effect: 'Each change set of a database counts as changed after an upgrade.',
    breaks: [],
    noticedBy: ['test/release/upgrade.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/own/role-matrix/roles.ts',
    fragment: '.every((word) => text.includes(word))',
    replacement: '.some((word) => text.includes(word))',
    effect: 'The search of permissions finds what has one word of several.',
    breaks: [],
    noticedBy: ['plugins/console/test/role-matrix.test.ts'],
  },
  {
    file: 'config-schema/src/nearest.ts',
    fragment: `    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
`,
    replacement: '',
    effect: 'The nearest name of one in camel case is not found.',
    breaks: [],
    noticedBy: ['config-schema/test/catalogue.test.ts'],
  },
  {
    file: 'plugins/money/src/ledger/movements.ts',
    fragment: `  const { amount, counter, lots: detail } = claim
  assertAmount(amount)
`,
    replacement: `  const { amount, counter, lots: detail } = claim
`,
    effect: 'A claim of a lot book may have an amount that is not positive.',
    breaks: [],
    noticedBy: ['plugins/money/test/postings.test.ts'],
  },
  {
    file: 'plugins/system-config/src/plugin.ts',
    fragment: `  entities,
  migrations: [createSystemConfig, markState, nameActingUser, indexActors],`,
    replacement: '  migrations: [createSystemConfig, markState, nameActingUser, indexActors],',
    effect: 'The config centre cannot read its tables.',
    breaks: [],
    noticedBy: ['plugins/system-config/test/config-centre.test.ts'],
  },
  {
    file: 'plugins/sms/src/drivers/call.ts',
    fragment: `    providerCode: code,
`,
    replacement: '',
    effect: 'A rejected text message has no code of the provider.',
    breaks: [],
    noticedBy: ['plugins/sms/test/drivers.test.ts'],
  },
  {
    file: 'plugins/console/src/admin/hint-streams.ts',
    fragment: `    stream.body.push(': open\\n\\n')
`,
    replacement: '',
    effect: 'A stream sends nothing until its first event, so a browser does not know that it is open.',
    breaks: [],
    noticedBy: ['plugins/console/test/live-hints.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/charts/number-table.tsx',
    fragment: '{shown.length === 1',
    replacement: '{shown.length !== 1',
    effect: 'A chart of one instance says that it shows several.',
    breaks: [],
    noticedBy: ['plugins/console/test/charts.test.ts'],
  },
  {
    file: 'plugins/shared-store/src/database-store.ts',
    fragment: `      const answer = items.map((item) => {
        const key = item.map((requested) => entryKey(requested.id)).find((id) => held.has(id))`,
    replacement: `      const answer = items.map((item) => {
        const key = item.slice(0, 1).map((requested) => entryKey(requested.id)).find((id) => held.has(id))`,
    effect: 'A joint limit is decided although another transaction holds its second entry.',
    breaks: [],
    noticedBy: ['plugins/shared-store/test/quota.test.ts'],
  },
  {
    file: 'plugins/webhook-providers/src/google-chat.ts',
    fragment: 'messageTypes: { text: shown, markdown: shown },',
    replacement: 'messageTypes: { text: shown },',
    effect: 'Google Chat rejects messages in Markdown.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/wire.test.ts'],
  },
  {
    file: 'plugins/notification-channels/src/webhook/attempt.ts',
    fragment: '      outcome = await this.#send(this.#route, signal)\n',
    replacement: '      return this.#send(this.#route, signal)\n',
    effect: 'An error of a webhook leaves the channel instead of becoming an outcome.',
    breaks: [],
    noticedBy: ['plugins/notification-channels/test/webhook-channel.test.ts'],
  },
  {
    file: 'plugins/notification/src/delivery/message-queue.ts',
    fragment: `  if (channel.recipientKinds.length === 0)
    return [{ channel: code, recipients: recipients.slice(0, maxPartRecipients) }]
`,
    replacement: '',
    effect: 'A channel without kinds of recipients receives a queued message without its recipients.',
    breaks: [],
    noticedBy: ['plugins/notification/test/delivery.test.ts'],
  },
  {
    file: 'plugins/member-points/src/admin-pages.ts',
    fragment: `    row.amount('frozenAfter', { currency: 'asset', hidden: true }),
    row.text('reason'),`,
    replacement: "    row.text('reason'),",
    effect: 'The list of entries cannot show the frozen points after an entry.',
    breaks: [],
    noticedBy: ['test/back-office/admin-pages.test.ts'],
  },
  {
    file: 'migrations/src/changelog.ts',
    fragment: `    plugin: row.plugin,
    id: row.change_set,
    checksum`,
    replacement: `    plugin: row.change_set,
    id: row.change_set,
    checksum`,
    effect: 'An applied change set belongs to an unknown plugin.',
    breaks: [],
    noticedBy: ['migrations/test/migrator.test.ts'],
  },
  {
    file: 'plugins/http/src/routes/route-registry.ts',
    fragment: `  const { method, path, summary, access, annotations = [], operationId = operationIdOf(method, path) } = declared
`,
    replacement: `  const { method, path, summary, access, annotations = [] } = declared
  const operationId = operationIdOf(method, path)
`,
    effect: 'The declared name of an operation has no effect.',
    breaks: [],
    noticedBy: ['plugins/http/test/routes.test.ts'],
  },
  {
    file: 'plugins/rate-limit-stores/src/memory.ts',
    fragment: 'const remainingMs = runs ? runningMs : windowMs',
    replacement: 'const remainingMs = windowMs',
    effect: 'A denied caller is told to wait for a whole window.',
    breaks: [],
    noticedBy: ['plugins/rate-limit-stores/test/memory.test.ts'],
  },
  {
    file: 'plugins/database/src/config.ts',
    fragment: `    default: '10m',
    scope: 'process',
  }),
}`,
    replacement: `    default: '10m',
  }),
}`,
    effect: 'How long a process waits for a migration can be stored in the database that is migrated.',
    breaks: [],
    noticedBy: ['test/documents.test.ts'],
  },
  {
    file: 'plugins/template/src/compile/mjml.ts',
    fragment: `  const last = open.at(-1)
  if (last !== undefined) throw`,
    replacement: `  const last = open.at(0)
  if (last !== undefined) throw`,
    effect: 'An open tag of MJML is reported at the outermost tag.',
    breaks: [],
    noticedBy: ['plugins/template/test/compile.test.ts'],
  },
  {
    file: 'plugins/wallet-login/src/routes.ts',
    fragment: `          clientIp: request.clientIp,
          traceId: request.traceId,
          userAgent`,
    replacement: `          clientIp: '',
          traceId: request.traceId,
          userAgent`,
    effect: 'A login with a wallet does not record the address of its caller.',
    breaks: [],
    noticedBy: ['plugins/wallet-login/test/wallet-login.test.ts'],
  },
  {
    file: 'plugins/notification/src/send-log/tasks.ts',
    fragment: '[sendLogKindOf(kinds.read(values)), -rows]',
    replacement: '[sendLogKindOf(kinds.read(values)), rows]',
    effect: 'Removed rows of the send log are counted twice instead of not at all.',
    breaks: [],
    noticedBy: ['plugins/notification/test/send-log.test.ts'],
  },
  {
    file: 'plugins/rate-limit/src/joint.ts',
    fragment: '|| down.has(failure.storeName)) throw failure',
    replacement: '|| !down.has(failure.storeName)) throw failure',
    effect: 'Joint limits end with an error when one of their stores fails.',
    breaks: [],
    noticedBy: ['plugins/rate-limit/test/failures.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/planning/fingerprint.ts',
    fragment: '  const { transfer } = facts\n',
    replacement: '  const { transfer } = { ...facts, transfer: null } as ReviewedFacts\n',
    effect: 'The fingerprint of a review does not cover the transfer.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/fingerprint.test.ts'],
  },
  {
    file: 'plugins/database/src/database-service.ts',
    fragment: 'if (!transaction.isCommitted)',
    replacement: 'if (transaction.isCommitted)',
    effect: 'A transaction that fails is not rolled back.',
    breaks: [],
    noticedBy: ['plugins/database/test/transaction.test.ts'],
  },
  {
    file: 'plugins/notification-rules/src/rule-templates.ts',
    fragment: "const databaseOrMail = ['database', 'mail']",
    replacement: "const databaseOrMail = ['database']",
    effect: 'The templates of rules for events by inbox or mail use the inbox alone.',
    breaks: [],
    noticedBy: ['plugins/notification-rules/test/routes.test.ts'],
  },
  {
    file: 'plugins/coordination/src/leases/row-leases.ts',
    fragment: `    this.#seen.set(key, observation)
    return observation`,
    replacement: `    this.#seen.set(key, observation)
    return known ?? observation`,
    effect: 'A lease that was renewed looks expired once.',
    breaks: [],
    noticedBy: ['plugins/coordination/test/leases.test.ts'],
  },
  {
    file: 'plugins/database/src/database-service.ts',
    fragment: `      await this.#open.connect()
      if (this.clock`,
    replacement: `      void this.#open.connect()
      if (this.clock`,
    effect: 'Connecting does not wait for the connection.',
    breaks: [],
    noticedBy: ['plugins/database/test/connection.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/planning/checked-facts.ts',
    fragment: "removed: log['removed'] === true,",
    replacement: 'removed: false,',
    effect: 'A removed log counts as a transfer.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/planner.test.ts'],
  },
  {
    file: 'config-schema/src/plain-schema.ts',
    fragment: 'return Object.entries(rest).every(([name, operand]) => {',
    replacement: 'return Object.entries(rest).some(([name, operand]) => {',
    effect: 'A schema with one plain keyword counts as plain, so its other rules are ignored.',
    breaks: [],
    noticedBy: ['config-schema/test/values.test.ts'],
  },
  {
    file: 'plugins/money/src/label-sources.ts',
    fragment: `name: \`\${type} \${own} · `,
    replacement: `name: \`\${type} · `,
    effect: 'The name of an account does not say whose it is.',
    breaks: [],
    noticedBy: ['plugins/money/test/admin.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/admin-pages.ts',
    fragment: `    row.time('retryAt', { hidden: true }),
  ],`,
    replacement: `  ],`,
    effect: 'The list of reviews cannot show when they are attempted again.',
    breaks: [],
    noticedBy: ['test/back-office/admin-pages.test.ts'],
  },
  {
    file: 'plugins/events/src/deliverer.ts',
    fragment: `    log.error({ event: id, type, attempts, reason }, 'all attempts to deliver an event failed; retry or skip it')
    return 'failed'`,
    replacement: `    log.error({ event: id, type, attempts, reason }, 'all attempts to deliver an event failed; retry or skip it')
    return 'delivered'`,
    effect: 'The metrics count an event that was given up as delivered.',
    breaks: [],
    noticedBy: ['plugins/events/test/admin.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/reviews/review-routes.ts',
    fragment: 'attempts: items.map(viewOfAttempt),',
    replacement: 'attempts: [],',
    effect: 'A review shows no attempts.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/claims.test.ts'],
  },
  {
    file: 'config-schema/src/running-hash.ts',
    fragment: '  powers[0] = base\n',
    replacement: '  powers[0] = 1\n',
    effect: 'Texts with equal letters in another order have the same hash.',
    breaks: [],
    noticedBy: ['config-schema/test/redaction.test.ts'],
  },
  {
    file: 'plugins/async-task/src/task-rows.ts',
    fragment: 'count(*) as unfinished, max(turn) as last from',
    replacement: 'count(*) as unfinished, min(turn) as last from',
    effect: 'Several tasks of one owner get the same turn.',
    breaks: [],
    noticedBy: ['plugins/async-task/test/tasks.test.ts'],
  },
  {
    file: 'plugins/notification/src/facade/send-routes.ts',
    fragment: `      socialMessageTypes: socialMessageTypes.map(({ code, displayName }) => ({
        code,`,
    replacement: `      socialMessageTypes: socialMessageTypes.map(({ code, displayName }) => ({
        code: code.toUpperCase(),`,
    effect: 'The codes of social message types are not those that a message accepts.',
    breaks: [],
    noticedBy: ['plugins/notification/test/routes.test.ts'],
  },
  {
    file: 'plugins/iam/src/verification/codes.ts',
    fragment: 'const expiresAt = clock.now() + ttlMs',
    replacement: 'const expiresAt = clock.now()',
    effect: 'The response says that a verification code has expired when it is sent.',
    breaks: [],
    noticedBy: ['plugins/iam/test/verification.test.ts'],
  },
  {
    file: 'kernel/src/cli/doctor-command.ts',
    fragment: '  const { plan } = server\n',
    replacement: '  const { plan } = command\n',
    effect: 'The check of a product counts the plugins of commands, not those of the server.',
    breaks: [],
    noticedBy: ['kernel/test/cli.test.ts'],
  },
  {
    file: 'plugins/http/src/health.ts',
    fragment: `    ...probe,
    path: '/health/ready',`,
    replacement: `    method: 'GET',
    access: 'user',
    hidden: true,
    path: '/health/ready',`,
    effect: 'Readiness can be read only with a login.',
    breaks: [],
    noticedBy: ['plugins/http/test/server.test.ts'],
  },
  {
    file: 'plugins/shared-store/src/config.ts',
    fragment: `    default: '5s',
    minimum: '100ms',`,
    replacement: `    default: '5s',
    minimum: '1ms',`,
    effect: 'The time to connect to Redis may be too short for any connection.',
    breaks: [],
    noticedBy: ['plugins/shared-store/test/effects.test.ts'],
  },
  {
    file: 'plugins/http/src/caller/message-checks.ts',
    fragment: `    if (problem !== undefined) return done(problem, undefined)
`,
    replacement: '',
    effect: 'A body that is not UTF-8 is read.',
    breaks: [],
    noticedBy: ['plugins/http/test/transport.test.ts'],
  },
  {
    file: 'plugins/social/src/admin-pages.ts',
    fragment: `    row.status(
      'outcome',`,
    replacement: `    row.status(
      'messageType',`,
    effect: 'The list of messages shows the type of a message as its outcome.',
    breaks: [],
    noticedBy: ['test/back-office/admin-pages.test.ts'],
  },
  {
    file: 'plugins/events/src/deliverer.ts',
    fragment: `    return startLeaseRenewal({
      clock,
      renewMs: leaseMs / 3,`,
    replacement: `    return startLeaseRenewal({
      clock,
      renewMs: leaseMs * 3,`,
    effect: 'The lease of an event is not renewed while its handler runs.',
    breaks: [],
    noticedBy: ['plugins/events/test/lease.test.ts'],
  },
  {
    file: 'plugins/console/web/field/rule-text.ts',
    fragment: "  maximum: 'schema.rule.maximum',",
    replacement: "  maximum: 'schema.rule.minimum',",
    effect: 'A value that is too large is called too small.',
    breaks: [],
    noticedBy: ['plugins/console/test/config-centre.test.ts'],
  },
  {
    file: 'plugins/webhook-providers/src/pushplus.ts',
    fragment: `    judge: createResponseJudge({
      delivered: createMemberCheck('code', 200),`,
    replacement: `    judge: createResponseJudge({
      delivered: createMemberCheck('code', 0),`,
    effect: 'A message that PushPlus accepted counts as rejected.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/wire.test.ts'],
  },
  {
    file: 'plugins/notification-channels/src/websocket/config.ts',
    fragment: `    ...declared,
    description`,
    replacement: `    ...declared,
    default: 1,
    description`,
    effect: 'The bounds of WebSocket connections are 1 by default.',
    breaks: [],
    noticedBy: ['test/documents.test.ts'],
  },
  {
    file: 'plugins/install/src/parts.ts',
    fragment: 'installToken(config, configAdmin, nodeEnvironment)',
    replacement: "installToken(config, configAdmin, 'development')",
    effect: 'In production the installer needs no token.',
    breaks: [],
    noticedBy: ['plugins/install/test/closed.test.ts'],
  },
  {
    file: 'plugins/http/src/schemas/input-validation.ts',
    fragment: `schemaPath.startsWith(\`\${union.schemaPath}/\${index}/\`)`,
    replacement: 'schemaPath.startsWith(union.schemaPath)',
    effect: 'Input that fits no branch of a union is reported with the errors of all branches.',
    breaks: [],
    noticedBy: ['plugins/http/test/input.test.ts'],
  },
  {
    file: 'plugins/http/src/openapi/openapi-changes.ts',
    fragment: `      this.changes.push(\`\${place} declares no members any more\`)
`,
    replacement: `      this.changes.push()
`,
    effect: 'A response that declares no members any more is not reported as a breaking change.',
    breaks: [],
    noticedBy: ['plugins/http/test/release-check.test.ts'],
  },
  {
    file: 'plugins/database/src/database-service.ts',
    fragment: `      { reserved: true },
      () => new IdSource`,
    replacement: `      { reserved: false },
      () => new IdSource`,
    effect: 'The renewal of ids waits for an ordinary connection.',
    breaks: [],
    noticedBy: ['plugins/database/test/ids.test.ts'],
  },
  {
    file: 'plugins/console/web/install/steps/done-step.tsx',
    fragment: '{ count: warnings.length })}>',
    replacement: '{ count: warnings.length - 1 })}>',
    effect: 'The last page of the installer shows one warning less than there are.',
    breaks: [],
    noticedBy: ['plugins/console/test/install/wizard-states.test.ts'],
  },
  {
    file: 'plugins/notification-channels/src/webhook/attempt.ts',
    fragment: `    if (!result.delivered) return this.#rejected(route, answer, result)
`,
    replacement: '',
    effect: 'A message that a provider rejected counts as accepted.',
    breaks: [],
    noticedBy: ['plugins/webhook-providers/test/wire.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/reference-cell.tsx',
    fragment: `        {name}
      </span>`,
    replacement: `        {id}
      </span>`,
    effect: 'A reference shows an id although its name is known.',
    breaks: [],
    noticedBy: ['plugins/console/test/admin.test.ts'],
  },
  {
    file: 'plugins/web3-settlement/src/reviews/review-logs.ts',
    fragment: 'remark: request.remark ?? null,',
    replacement: 'remark: null,',
    effect: 'The remark of a review is not stored.',
    breaks: [],
    noticedBy: ['plugins/web3-settlement/test/settle.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/pages/framed-html.ts',
    fragment: `    .replace(/@import\\s*(?:url\\([^)]*\\)|"[^"]*"|'[^']*')?[^;{}]*;?/gi, '')
`,
    replacement: '',
    effect: 'A shown mail loads style sheets of other addresses.',
    breaks: [],
    noticedBy: ['plugins/console/test/live-preview.test.ts'],
  },
  {
    file: 'plugins/console/web/admin/own/config-centre/search-bar.tsx',
    fragment: '<span className={classes.count}>{found}</span>',
    replacement: '<span className={classes.count}>{items.length}</span>',
    effect: 'Each filter of the config centre shows the number of all keys.',
    breaks: [],
    noticedBy: ['plugins/console/test/config-centre.test.ts'],
  },
]

/** Drawn lines without a change, with the reason. */
export const leftOut20261127: readonly { readonly line: string; readonly reason: string }[] = [
  {
    line: 'plugins/console/web/admin/own/config-centre/config-centre.tsx:259',
    reason: 'Any other first value is replaced by the lines below before anything is shown.',
  },
  {
    line: 'plugins/notification/src/admin-pages.ts:314',
    reason: 'The head of a list of columns; they are in the lines below.',
  },
  {
    line: 'plugins/notification/src/admin-pages.ts:204',
    reason: 'The identifier of an entry; any other free one works as well.',
  },
  {
    line: 'plugins/open-platform/src/applications/app-routes.ts:176',
    reason: 'A text for users.',
  },
  {
    line: 'plugins/iam/src/config.ts:65',
    reason: 'A text for users.',
  },
  {
    line: 'plugins/notification/src/plugin.ts:77',
    reason: 'A name in the head of a function; without it the file is an error of types.',
  },
  {
    line: 'plugins/member-points/src/admin/adjustments.ts:56',
    reason: 'Names for the lines below; without one the file is an error of types.',
  },
  {
    line: 'config-schema/src/keywords.ts:223',
    reason: 'The head of an entry; its members are in the lines below.',
  },
  {
    line: 'plugins/console/web/admin/api/context.tsx:19',
    reason: 'The head of a call; its arguments are in the lines below.',
  },
  {
    line: 'plugins/http/src/server/app.ts:139',
    reason: 'The function has no other value that it could return.',
  },
  {
    line: 'plugins/http/src/caller/client-ip.ts:118',
    reason: 'The only call that can give the value; without it the file is an error of types.',
  },
  {
    line: 'plugins/open-platform/src/applications/applications.ts:56',
    reason: 'The constructor stores its only argument; without it nothing works.',
  },
  {
    line: 'plugins/coordination/src/engine/leased-runs.ts:61',
    reason: 'An empty set that the lines below fill.',
  },
  {
    line: 'plugins/rate-limit/src/limiter-metrics.ts:93',
    reason: 'Replaced by a later line of the pages in the browser, so that there are eight.',
  },
  {
    line: 'plugins/notification/src/rules/rule-routes.ts:121',
    reason: 'Replaced by a later line of the pages in the browser, so that there are eight.',
  },
  {
    line: 'plugins/console/web/admin/shell/shell.tsx:38',
    reason: 'The head of a call; its arguments are in the lines below.',
  },
]
