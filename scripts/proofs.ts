/**
 * The proofs: long test runs that are not part of `npm test`. `npm run proof -- --list` prints this table. CI runs the proofs that a
 * change concerns, and one of the groups each day.
 */
export interface Proof {
  readonly proves: string
  /** Typical duration on two cores with nothing else running. */
  readonly minutes: number
  /** CI runs the proofs of group `day modulo groupCount`. The day is the number of days since 1970-01-01 in UTC. */
  readonly group: number
  /** Globs of the paths whose change concerns the proof. */
  readonly paths: readonly string[]
  /** Globs of test files. They run with `PLINTH_TEST_PROOF=1`; a file of `npm test` then runs its long form. */
  readonly files: readonly string[]
  /**
   * The files run in their short form on each of these databases, and each server checks the SQL statements of the others. The gate of CI
   * uses the first one only.
   */
  readonly databases?: readonly string[]
}

/** Number of groups. On one day, the proofs of one group run. */
export const groupCount = 10

/**
 * All tests of some packages, in their short form, on each database. `npm test` runs the short ones of them.
 *
 * @param subject what the packages contain
 * @param folders globs of the folders of the packages
 */
const area = (group: number, minutes: number, subject: string, folders: readonly string[]): Proof => ({
  proves: `All tests of ${subject} pass on each database, and each SQL statement is valid on both servers.`,
  minutes,
  group,
  paths: folders.map((folder) => `${folder}/{src,test,web}/**`),
  files: folders.map((folder) => `${folder}/test/**/*.test.ts`),
  databases: ['postgresql', 'mariadb', 'sqlite'],
})

const officePaths = ['plugins/console/{src,web}/**', 'plugins/admin/src/**', 'test/back-office/**']

export const proofs: Readonly<Record<string, Proof>> = {
  kills: {
    proves: 'Nothing is lost, doubled or stuck when a process is killed.',
    minutes: 7,
    group: 0,
    paths: [
      'plugins/{events,async-task,scheduler,coordination,money,member-points,web3-settlement,install,rate-limit-stores,idempotency}/src/**',
      'plugins/{events,async-task,money,install,rate-limit-stores,web3-settlement}/test/fixtures/**',
      'plugins/{notification,notification-channels,webhook-providers}/src/**',
    ],
    files: [
      'plugins/*/test/{killed,processes,crash,websocket-process,fan-out}.proof.ts',
      'kernel/test/supervisor.proof.ts',
    ],
  },
  instances: {
    proves:
      'Several instances work as one, also with each default isolation level of a server, and each wait ends when the database or Redis stops responding.',
    minutes: 3,
    group: 0,
    paths: [
      'plugins/{database,shared-store,coordination,events}/src/**',
      'plugins/member-points/src/{lots,orders,rewards}/**',
      'test/fixtures/instances.config.ts',
    ],
    files: [
      'test/{instances,silent-database}.proof.ts',
      'plugins/{async-task,open-platform}/test/instances.proof.ts',
      'plugins/member-points/test/isolation.proof.ts',
    ],
  },
  redis: {
    proves:
      'Sentinels and a Redis Cluster work like one server, and no row of the database is lost, doubled or stuck when a part of them fails.',
    minutes: 4,
    group: 3,
    paths: ['plugins/{shared-store,coordination}/src/**', 'plugins/shared-store/test/fixtures/redis-servers.ts'],
    files: ['plugins/shared-store/test/redis-deployments.proof.ts', 'test/redis.proof.ts'],
  },
  scale: {
    proves:
      'No client notices a rolling restart of two instances behind nginx or Caddy, clients that repeat their requests lose nothing when instances are killed, and the benchmark of several instances works.',
    minutes: 10,
    group: 4,
    paths: [
      'plugins/{http,events,async-task,coordination,idempotency,storage}/src/**',
      'plugins/notification-channels/src/websocket/**',
      'dev/templates/deploy/deploy/{caddy,nginx}/**',
      'bench/scale/**',
      'test/{scale/**,fixtures/instances*.ts}',
    ],
    files: ['test/scale/*.proof.ts'],
  },
  webhooks: {
    proves:
      'Webhooks survive receivers that are down, slow or hostile, killed processes and several instances, and each endpoint receives only events of its data scope.',
    minutes: 5,
    group: 3,
    paths: [
      'plugins/{webhooks,events,outgoing-http}/src/**',
      'plugins/webhooks/test/**',
      'examples/webhook-receiver/**',
    ],
    files: ['plugins/webhooks/test/webhooks.proof.ts'],
  },
  receipts: {
    proves:
      'A mail whose response was lost is resolved by the report of the provider, and never sent twice, over 20 kills on each database.',
    minutes: 4,
    group: 4,
    paths: ['plugins/{delivery-receipts,notification,mail,events}/src/**', 'plugins/delivery-receipts/test/**'],
    files: ['plugins/delivery-receipts/test/receipts.proof.ts'],
  },
  digests: {
    proves:
      'Every item is in exactly one digest, in order, over 20 kills on each database, with two instances, quiet hours and changed time zones.',
    minutes: 4,
    group: 4,
    paths: ['plugins/{digest,notification}/src/**', 'test/digest/**'],
    files: ['test/digest/streams.proof.ts'],
  },
  push: {
    proves:
      'A device that accepted a push message before a kill does not get it again, over 10 kills on each database.',
    minutes: 3,
    group: 4,
    paths: ['plugins/{push,notification,events}/src/**', 'plugins/push/test/**'],
    files: ['plugins/push/test/push.proof.ts'],
  },
  'inbox-element': {
    proves:
      'The inbox element works in pages of plain HTML, React and Vue on another site, under a strict content security policy, with the keyboard, in both languages, and loses and doubles no item when it connects again.',
    minutes: 3,
    group: 4,
    paths: [
      'inbox-element/**',
      'examples/inbox-embed/**',
      'plugins/inbox/src/**',
      'plugins/notification-channels/src/websocket/**',
    ],
    files: ['test/inbox-element/embed.proof.ts'],
  },
  installer: {
    proves:
      'The installer works in a browser, on the command line and through restarts, also if a database or Redis is not available.',
    minutes: 2,
    group: 2,
    paths: ['plugins/install/{src,test/fixtures}/**'],
    files: ['plugins/install/test/{command,connection-trial,fallback-start,secrets,pages}.proof.ts'],
  },
  pooler: {
    proves: 'Two instances behind pgbouncer serve mixed load, and balances are exact.',
    minutes: 1,
    group: 0,
    paths: ['plugins/database/src/**', 'test/fixtures/{behind-pooler.ts,pooler.config.ts}'],
    files: ['test/pooler.proof.ts'],
  },
  clocks: {
    proves: 'A wrong clock of a host destroys no data.',
    minutes: 1,
    group: 0,
    paths: ['plugins/database/src/time/**', 'test/fixtures/clock-world.ts'],
    files: ['test/clocks.proof.ts'],
  },
  backup: {
    proves:
      'A backup is complete and proven or removed, and every row and file can be restored with the secret key only.',
    minutes: 14,
    group: 3,
    paths: [
      'plugins/backup/src/**',
      'plugins/database/src/move/**',
      'plugins/storage/src/directory-disk.ts',
      'test/backup/**',
    ],
    files: ['test/backup/backup.proof.ts'],
  },
  move: {
    proves: 'All rows survive moves between databases that are killed at many places, and each planted fault is found.',
    minutes: 10,
    group: 7,
    paths: ['plugins/database/src/{move/**,open-orm.ts}', 'migrations/src/**', 'test/move/**'],
    files: ['test/move/move.proof.ts'],
  },
  growth: {
    proves: 'The cost of lists, purges and tasks does not grow with the tables.',
    minutes: 1,
    group: 0,
    paths: ['plugins/*/src/migrations/**', 'plugins/*/src/entities.ts', 'plugins/database/src/rows/**'],
    files: ['test/growth.proof.ts', 'plugins/system-config/test/many-values.test.ts'],
  },
  upgrades: {
    proves:
      'Databases of earlier versions are upgraded, the previous version runs on an upgraded one, and upgrades of third-party plugins are checked.',
    minutes: 3,
    group: 2,
    paths: ['migrations/**', 'plugins/*/src/migrations/**', 'test/release/**', 'test/verify/upgrades.proof.ts'],
    files: ['test/release/{upgrade,previous-version}.proof.ts', 'test/verify/upgrades.proof.ts'],
  },
  'back-office': {
    proves: 'Operators complete their tasks in the back office, with a mouse and with the keyboard alone.',
    minutes: 15,
    group: 9,
    paths: officePaths,
    files: [
      'test/back-office/{api-tokens,back-office,couriers,figures,frame-pages,list-export,lists,lists-work}.proof.ts',
      'test/back-office/{open-layers,operator-reset,operator-settlement,operator-tasks,undo-by-keyboard}.proof.ts',
    ],
  },
  faults: {
    proves:
      'Work in the back office survives faults and offline phases: nothing is lost, and nothing is done that was cancelled.',
    minutes: 22,
    group: 8,
    paths: officePaths,
    files: ['test/back-office/{compose-faults,faults,offline}.proof.ts'],
  },
  words: {
    proves: 'The back office shows words instead of codes and ids, in each language.',
    minutes: 13,
    group: 9,
    paths: officePaths,
    files: ['test/back-office/words.proof.ts'],
  },
  packages: {
    proves: 'Packed packages, created products and `npm create plinth` work without this repository.',
    minutes: 5,
    group: 1,
    paths: [
      '{.,*,*/*,*/*/*}/package.json',
      'create-plinth/**',
      'dev/templates/**',
      'scripts/{build,release,stage-packages}.*',
    ],
    files: ['test/{published,create}.proof.ts', 'test/release/release.proof.ts'],
  },
  deploy: {
    proves:
      'The installer, upgrades and backups work in every deployment that products contain, and so do the commands of the guides.',
    minutes: 14,
    group: 1,
    paths: [
      'dev/templates/deploy/**',
      'docs/operations/**',
      'test/deploy/**',
      'plugins/install/src/{settings,state,preflight}/**',
      'kernel/src/files/**',
    ],
    files: ['test/deploy/*.proof.ts'],
  },
  verify: {
    proves: '`plinth plugin verify` accepts correct plugins and rejects incorrect ones.',
    minutes: 3,
    group: 1,
    paths: ['dev/src/{verify,conformance}/**', 'test/verify/**'],
    files: ['test/verify/verify.proof.ts'],
  },
  authors: {
    proves:
      'Each mistake of an author is reported with its cause and a fix, and `plinth dev` starts again after a change.',
    minutes: 1,
    group: 1,
    paths: ['test/{author-mistakes,planted-faults}/**', 'dev/src/dev-server/**'],
    files: ['test/author-mistakes.proof.ts', 'dev/test/dev.proof.ts'],
  },
  starts: {
    proves:
      'A product starts without any one plugin, `plinth doctor` predicts each start that fails, processes end without a lost request, and the commands for personal data work.',
    minutes: 1,
    group: 2,
    paths: ['test/planted-faults/**', 'test/fixtures/product-process.ts'],
    files: ['test/{doctor-and-start,left-out-plugins,personal-data-commands,product}.proof.ts'],
  },
  tracing: {
    proves:
      'A request and the webhook that another process sent are one trace, whose id leads to the rows of the request.',
    minutes: 1,
    group: 4,
    paths: [
      'plugins/{opentelemetry,events,webhooks,outgoing-http}/src/**',
      'plugins/http/src/server/**',
      'plugins/{opentelemetry,webhooks}/test/fixtures/**',
      'test/fixtures/traced-*.ts',
    ],
    files: ['test/tracing.proof.ts'],
  },
  s3: {
    proves:
      'Files on an S3 server are never lost, mixed or damaged unnoticed: the contract of disks on two servers, and each fault at each operation.',
    minutes: 5,
    group: 7,
    paths: [
      'plugins/{storage-s3,storage,outgoing-http}/src/**',
      'plugins/storage-s3/test/**',
      'dev/src/conformance/storage.ts',
    ],
    files: ['plugins/storage-s3/test/s3.proof.ts'],
  },
  secrets: {
    proves:
      'No output shows a secret, and an administrator who may change every key gets no secret, private file or session of another user.',
    minutes: 1,
    group: 1,
    paths: [
      'plugins/{system-config,outgoing-http,storage,notification}/src/**',
      'plugins/*/src/config.ts',
      'test/hostile-administrator.proof.ts',
      'test/fixtures/attacker.ts',
    ],
    files: ['test/{hostile-administrator,secrets}.proof.ts'],
  },
  fuzz: {
    proves:
      'No request makes the product fail or reveal internals, no sequence of calls leaves the data scope, and a thousand guesses of a code lock nobody out.',
    minutes: 2,
    group: 1,
    paths: ['plugins/{http,authenticators}/src/**', 'test/fuzz/**'],
    files: [
      'test/fuzz/fuzz.proof.ts',
      'plugins/iam/test/{boundary,data-scope}.test.ts',
      'plugins/authenticators/test/totp-attacks.test.ts',
    ],
  },
  console: {
    proves: 'The pages of the console work with each browser size, language, database and missing script.',
    minutes: 4,
    group: 4,
    paths: ['plugins/console/{src,web,scripts,test/fixtures}/**'],
    files: ['plugins/console/test/**/*.proof.ts'],
  },
  documents: {
    proves: 'The commands and code blocks of the guides work as written, and the site is complete.',
    minutes: 4,
    group: 2,
    paths: [
      'README.md',
      'docs/**',
      'plugins/*/README.md',
      'scripts/api-reference/**',
      'scripts/reference-pages.ts',
      'test/site/**',
    ],
    files: ['test/{document-blocks,integrator-guide,readme,cli-page}.proof.ts', 'test/site/site.proof.ts'],
  },
  same: {
    proves:
      'A record of everything that users, operators, authors and databases see is the same each time. The differences from the base of the change are printed.',
    minutes: 1,
    group: 2,
    paths: ['test/same/**'],
    files: ['test/same/same.proof.ts'],
  },
  core: {
    ...area(0, 7, 'kernel, configuration, migrations and shared stores', [
      '{config-schema,dev,kernel,migrations,plugins/{coordination,database,i18n,presets,shared-store}}',
    ]),
    // A change of the kernel itself concerns all proofs.
    paths: [
      '{config-schema,dev,kernel,migrations}/test/**',
      '{config-schema,migrations,plugins/{coordination,database,i18n,presets,shared-store}}/src/**',
    ],
  },
  accounts: area(6, 14, 'accounts, sign-in and data scopes', [
    'plugins/{approval,authenticators,iam,sign-in-oidc,social,wallet-login}',
  ]),
  messages: area(6, 13, 'notification and its channels', [
    'plugins/{delivery-receipts,mail,notification,notification-channels,notification-linkage,notification-rules}',
    'plugins/{sms,suppression,template,webhook-providers}',
  ]),
  inbox: area(2, 6, 'inbox, digests and push messages', ['{inbox-element,plugins/{digest,inbox,push}}']),
  money: area(3, 6, 'the ledger and member points', ['plugins/{member-points,money}']),
  settlement: area(5, 9, 'wallets and web3 settlement', ['plugins/{web3,web3-settlement}']),
  office: area(2, 11, 'the back office, resources and settings', [
    'plugins/{admin,console,resource,site,system-config,table}',
  ]),
  installation: area(0, 7, 'the installer, backups and files', [
    'plugins/{backup,install,quickstart-cleanup,storage,storage-s3}',
  ]),
  services: area(7, 13, 'requests, events, tasks, webhooks and limits', [
    'plugins/{async-task,events,http,idempotency,open-platform,opentelemetry,outgoing-http}',
    'plugins/{rate-limit,rate-limit-stores,scheduler,webhooks}',
  ]),
  examples: { ...area(1, 3, 'the examples', ['examples/*']), files: ['examples/**/*.test.ts'] },
  products: {
    ...area(5, 17, 'whole products', ['test']),
    paths: ['test/fixtures/**', 'test/**/*.test.ts'],
    files: ['test/**/*.test.ts'],
  },
}

/** Globs of paths that concern no other proof. Any other path that no proof lists concerns all proofs. */
export const coveredByTests: readonly string[] = [
  '*.md',
  '.github/**',
  'bench/**',
  '**/*.test.ts',
  '**/messages/*.json',
  '{config-schema,plugins/*,examples/*}/{src,web,test}/**',
  'examples/**',
  'dev/test/**',
  'kernel/test/**',
  'test/*/**',
]
