import { adminPages, amountUnits, attention, charts, labelSources, signInWays } from '@plinth/admin'
import { approvalWorkflow } from '@plinth/approval'
import { loginGuard, renameGuard, verificationCodeSender } from '@plinth/iam'
import {
  dataCheck,
  type ExtensionPoint,
  extensionPoint,
  healthCheck,
  notificationChannel,
  quickstartCleanup,
  rateLimitStore,
  stateFile,
} from '@plinth/kernel'
import { auditTrail } from '@plinth/kernel/host'
import { mailDriver } from '@plinth/mail'
import { ledgerAssets, ledgerKinds } from '@plinth/money'
import { paymentSuccess } from '@plinth/money/payments'
import { webhookProvider } from '@plinth/notification-channels/webhook'
import { websocketGroupGuard } from '@plinth/notification-channels/websocket'
import { smsDriver } from '@plinth/sms'
import { storageDisk } from '@plinth/storage'
import { contributeTo, createAcmePlugin, declareMembers, type Mistake } from './mistake.ts'

const title = { en: 'Acme', 'zh-CN': '顶点' }
const run = async () => {}

type Point = ExtensionPoint<never>
type Expected = Pick<Mistake, 'place' | 'cause'> & { readonly fix?: string }

/** Returns a contribution whose name or members violate the rules of its extension point. */
const broken = (
  id: string,
  mistake: string,
  point: unknown,
  name: string,
  implementation: unknown,
  { place, cause, fix = (point as Point).from ?? '@plinth/kernel' }: Expected,
): Mistake => ({
  id,
  mistake,
  place,
  cause,
  fix,
  product: contributeTo(point as Point, name, implementation),
  code: 'PLINTH_CONTRIBUTION_INVALID',
})

const channel = { displayName: title, recipientKinds: ['email'], traits: { idempotent: false }, send: run }
const store = { traits: { shared: false, algorithm: 'fixed-window' }, consume: run, peek: run, reset: run }
const provider = {
  code: 'acme',
  displayName: title,
  knownHosts: [],
  secret: { use: 'token', into: 'path' },
  judge: run,
  messageTypes: { text: { body: () => ({}) } },
}
const labels = { scope: 'none', byIds: run, search: run }
const chart = {
  id: 'acme.sales',
  kind: 'operation',
  title,
  source: 'getSales',
  at: 'day',
  order: 1,
  lines: [{ field: 'n' }],
}
const needs = { id: 'acme.late', title, tone: 'warn', source: 'getLate' }
const page = {
  id: 'acme.orders',
  kind: 'list',
  title,
  source: 'getOrders',
  key: 'id',
  columns: [{ field: 'id', as: 'text' }],
}
const cleanup = { displayName: title, dataType: 'demo-orders', preview: run, execute: run }
const disk = { visibility: 'private', write: run, open: run, stat: run, delete: run, list: run, verify: run }

/** Mistakes in contributions to the extension points of the kernel and of messages. */
export const messagePointMistakes: readonly Mistake[] = [
  broken('channel-name', 'A channel is contributed under a title', notificationChannel, 'Acme Chat', channel, {
    place: 'the name',
    cause: '"Acme Chat"',
  }),
  broken(
    'channel-empty',
    'A channel has a name and nothing else',
    notificationChannel,
    'acme',
    { displayName: title },
    {
      place: 'send',
      cause: 'must be a function, but is missing',
    },
  ),
  broken(
    'channel-misspelt',
    'A method of a channel is misspelt',
    notificationChannel,
    'acme',
    { ...channel, send: undefined, sned: run },
    {
      place: 'send',
      cause: 'did you write "sned"?',
    },
  ),
  broken(
    'channel-kind',
    'A channel lists an unknown kind of recipient',
    notificationChannel,
    'acme',
    { ...channel, recipientKinds: ['e-mail'] },
    {
      place: 'recipientKinds[0]',
      cause: 'did you mean "email"?',
    },
  ),
  broken(
    'channel-optional-misspelt',
    'An optional method of a channel is misspelt',
    notificationChannel,
    'acme',
    { ...channel, verfiy: run },
    {
      place: 'verfiy',
      cause: 'did you mean "verify"?',
    },
  ),
  broken(
    'channel-traits',
    'The traits of a channel are a text',
    notificationChannel,
    'acme',
    { ...channel, traits: 'idempotent' },
    {
      place: 'traits',
      cause: 'must be an object, but is "idempotent"',
    },
  ),
  broken('limiter-name', 'A limiter store is contributed in camelCase', rateLimitStore, 'acmeStore', store, {
    place: 'the name',
    cause: '"acmeStore"',
  }),
  broken(
    'limiter-algorithm',
    'A limiter store has an unknown algorithm',
    rateLimitStore,
    'acme',
    { ...store, traits: { shared: true, algorithm: 'sliding' } },
    {
      place: 'traits.algorithm',
      cause: '"sliding-window"',
    },
  ),
  broken(
    'limiter-reset',
    'A limiter store cannot forget a key',
    rateLimitStore,
    'acme',
    { ...store, reset: undefined },
    {
      place: 'reset',
      cause: 'must be a function, but is missing',
    },
  ),
  broken('webhook-bare', 'A webhook provider is contributed without its settings', webhookProvider, 'acme', provider, {
    place: 'provider',
    cause: 'but is missing',
  }),
  broken(
    'webhook-secret',
    'The use of the secret of a provider is misspelt',
    webhookProvider,
    'acme',
    { settings: run, provider: { ...provider, secret: { use: 'tokn' } } },
    {
      place: 'provider.secret.use',
      cause: 'did you mean "token"?',
    },
  ),
  broken(
    'webhook-judge',
    'A webhook provider cannot judge a response',
    webhookProvider,
    'acme',
    { settings: run, provider: { ...provider, judge: undefined } },
    {
      place: 'provider.judge',
      cause: 'must be a function, but is missing',
    },
  ),
  broken(
    'webhook-subject-limit',
    'The unit of a limit of the subject is misspelt',
    webhookProvider,
    'acme',
    {
      settings: run,
      provider: { ...provider, messageTypes: { text: { body: run, subjectLimit: { max: 9, unit: 'byte' } } } },
    },
    {
      place: 'provider.messageTypes.text.subjectLimit.unit',
      cause: 'did you mean "bytes"?',
    },
  ),
  broken(
    'webhook-message-type',
    'A webhook provider names a message type instead of choosing one',
    webhookProvider,
    'acme',
    { settings: run, provider: { ...provider, messageTypeOf: 'text' } },
    {
      place: 'provider.messageTypeOf',
      cause: 'must be a function, but is "text"',
    },
  ),
  broken(
    'mail-driver',
    'A mail driver cannot be verified',
    mailDriver,
    'acme',
    { displayName: title, isConfigured: () => true, send: run },
    {
      place: 'verify',
      cause: 'must be a function, but is missing',
    },
  ),
  broken(
    'sms-driver',
    'isConfigured of an SMS driver is a value',
    smsDriver,
    'acme',
    { displayName: title, isConfigured: true, send: run },
    {
      place: 'isConfigured',
      cause: 'must be a function, but is true',
    },
  ),
  broken(
    'sms-template-codes',
    'The form of template codes of an SMS driver is a text',
    smsDriver,
    'acme',
    { displayName: title, isConfigured: run, send: run, templateCodes: '^[0-9]+$' },
    {
      place: 'templateCodes',
      cause: 'must be an object, but is "^[0-9]+$"',
    },
  ),
  broken('websocket-guard', 'A guard of groups is a function', websocketGroupGuard, 'acme', () => true, {
    place: 'mayJoin',
    cause: 'must be a function, but is missing',
  }),
  broken(
    'verification-sender',
    'A sender of codes lists an unknown channel',
    verificationCodeSender,
    'acme',
    { channels: ['e-mail'], send: run },
    {
      place: 'channels[0]',
      cause: 'but is "e-mail"',
    },
  ),
]

/** Mistakes in contributions to the back office and to all other extension points. */
export const otherPointMistakes: readonly Mistake[] = [
  broken(
    'page-kind',
    'A page has an unknown kind',
    adminPages,
    'acme.orders',
    { ...page, kind: 'table' },
    {
      place: 'kind',
      cause: '"list"',
    },
  ),
  broken(
    'page-columns',
    'The columns of a page are names',
    adminPages,
    'acme.orders',
    { ...page, columns: ['id', 'note'] },
    {
      place: 'columns[0]',
      cause: 'must be an object, but is "id"',
    },
  ),
  broken(
    'page-sections',
    'A section of a page has no columns',
    adminPages,
    'acme.order',
    { id: 'acme.order', kind: 'detail', title, source: 'getOrder', sections: [{ title }] },
    {
      place: 'sections[0].columns',
      cause: 'is missing',
    },
  ),
  broken(
    'page-group',
    'A page is in an unknown group',
    adminPages,
    'acme.orders',
    { ...page, place: { group: 'mesages', order: 1 } },
    {
      place: 'place.group',
      cause: 'did you mean "messages"?',
    },
  ),
  broken('page-name', 'A page is contributed under another name than its id', adminPages, 'acme.sales', page, {
    place: 'the name',
    cause: '"acme.orders"',
  }),
  broken(
    'chart-kind',
    'A chart has the kind of its picture',
    charts,
    'acme.sales',
    { ...chart, kind: 'line' },
    {
      place: 'kind',
      cause: '"operation"',
    },
  ),
  broken(
    'chart-lines',
    'A chart has no lines',
    charts,
    'acme.sales',
    { ...chart, lines: [] },
    {
      place: 'lines',
      cause: 'at least 1 item',
    },
  ),
  broken(
    'attention-tone',
    'Something that needs attention has a colour',
    attention,
    'acme.late',
    { ...needs, tone: 'red' },
    {
      place: 'tone',
      cause: '"bad"',
    },
  ),
  broken(
    'attention-source',
    'Something that needs attention has no operation',
    attention,
    'acme.late',
    { ...needs, source: undefined },
    {
      place: 'source',
      cause: 'must be text, but is missing',
    },
  ),
  broken(
    'sign-in-kind',
    'A way to sign in has an unknown kind',
    signInWays,
    'acme.oauth',
    { id: 'acme.oauth', kind: 'oauth', challenge: 'a', login: 'b' },
    {
      place: 'kind',
      cause: '"wallet"',
    },
  ),
  broken(
    'labels-scope',
    'A label source declares no data scope',
    labelSources,
    'acme.order',
    { ...labels, scope: undefined },
    {
      place: 'scope',
      cause: '"caller"',
    },
  ),
  broken('labels-function', 'A label source is a function', labelSources, 'acme.order', run, {
    place: 'byIds',
    cause: 'must be a function, but is missing',
  }),
  broken('amount-units', 'Units are a Map instead of a function', amountUnits, 'acme', new Map(), {
    place: 'the contribution',
    cause: 'must be a function',
  }),
  broken('state-file', 'A state file is a path instead of a function', stateFile, 'acme', 'data/acme.key', {
    place: 'the contribution',
    cause: 'must be a function, but is "data/acme.key"',
  }),
  broken('data-check', 'A data check is a list of checks', dataCheck, 'acme', [run], {
    place: 'the contribution',
    cause: 'must be a function, but is a list',
  }),
  broken(
    'health-check',
    'A health check is an object with a method',
    healthCheck,
    'acme',
    { check: run },
    {
      place: 'the contribution',
      cause: 'must be a function, but is an object',
    },
  ),
  broken(
    'audit-trail',
    'An audit trail has no record',
    auditTrail,
    'acme',
    { write: run },
    {
      place: 'record',
      cause: 'must be a function, but is missing',
    },
  ),
  broken('cleanup-name', 'A cleanup is contributed under a title', quickstartCleanup, 'Demo Orders', cleanup, {
    place: 'the name',
    cause: '"Demo Orders"',
  }),
  broken(
    'cleanup-type',
    'The data type of a cleanup is a title',
    quickstartCleanup,
    'acme',
    { ...cleanup, dataType: 'Demo orders' },
    {
      place: 'dataType',
      cause: 'but is "Demo orders"',
    },
  ),
  broken(
    'login-guard',
    'A method of a login guard is misspelt',
    loginGuard,
    'acme',
    { beforeAttemp: run },
    {
      place: 'beforeAttempt',
      cause: 'did you write "beforeAttemp"?',
    },
  ),
  broken('rename-guard', 'A rename guard is a function', renameGuard, 'acme', run, {
    place: 'assertUsernameAllowed',
    cause: 'must be a function, but is missing',
  }),
  broken(
    'disk-visibility',
    'A disk has an unknown visibility',
    storageDisk,
    'acme',
    { ...disk, visibility: 'hidden' },
    {
      place: 'visibility',
      cause: '"private"',
    },
  ),
  broken('disk-name', 'A disk is contributed under a title', storageDisk, 'My Disk', disk, {
    place: 'the name',
    cause: '"My Disk"',
  }),
  broken(
    'workflow-from',
    'The states of an approval rule are one text',
    approvalWorkflow,
    'acme.review',
    { displayName: title, actions: { pass: { displayName: title, from: 'open' } } },
    {
      place: 'actions.pass.from',
      cause: 'must be a list, but is "open"',
    },
  ),
  broken('payment-handler', 'A handler of payments is a function', paymentSuccess, 'acme', run, {
    place: 'paid',
    cause: 'must be a function, but is missing',
  }),
  broken(
    'asset-scale',
    'The scale of an asset is not a whole number',
    ledgerAssets,
    'credit:acme',
    { displayName: title, scale: 2.5 },
    {
      place: 'scale',
      cause: 'but is 2.5',
    },
  ),
  broken('kind-name', 'The name of a kind of journals is a number', ledgerKinds, 'acme.sale', 7, {
    place: 'the contribution',
    cause: 'must be text',
  }),
  broken(
    'third-party-shape',
    'A contribution breaks the shape of the point of a third party',
    extensionPoint('acme.courier', {
      from: '@acme/courier',
      shape: { type: 'object', properties: { book: { type: 'function' } }, required: ['book'] },
    } as never),
    'fast',
    { boook: run },
    { place: 'book', cause: 'did you write "boook"?' },
  ),
  {
    id: 'point-shape',
    mistake: 'The shape of a point has an unknown keyword',
    product: declareMembers(() => ({
      extensionPoints: [extensionPoint('acme.courier', { shape: { tipe: 'object' } } as never)],
    })),
    code: 'PLINTH_PLAN_INVALID_DECLARATION',
    place: 'extensionPoints[0].shape',
    cause: 'did you mean "type"?',
    fix: 'extensionPoints: [',
  },
  {
    id: 'contribution-undeclared',
    mistake: 'A plugin contributes to a point that is not in contributes',
    product: () => [
      createAcmePlugin({
        setup: ({ contribute }: { contribute: (...of: unknown[]) => void }) => contribute(healthCheck, 'a', run),
      }),
    ],
    code: 'PLINTH_CONTRIBUTION_UNDECLARED',
    place: 'kernel.health-check',
    cause: 'without declaring it',
    fix: 'contributes',
  },
]
