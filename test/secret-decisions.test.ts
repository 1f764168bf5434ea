/**
 * Checks that each sensitive key has a recorded decision about its destination, and that each signing key and each key
 * with a path of the host is set in the configuration of the process. A new key without a decision fails here.
 */
import { prepareProduct } from '@plinth/kernel/host'
import t from 'tap'
import quickstart from '../examples/quickstart/plinth.config.ts'
import withAcme from './fixtures/with-acme.config.ts'

const prepared = [quickstart, withAcme].flatMap((product) => [
  ...prepareProduct({ ...product, file: undefined }, { envFile: false }).config.catalogue,
])
const catalogue = new Map(prepared.map((entry) => [entry.key, entry]))
const webhook = /^platform\.notification\.channels\.webhook\.providers\.([a-z-]+)\.(endpoint|secret)$/
/** Codes of webhook providers by their aliases. */
const codeOf: Readonly<Record<string, string>> = { lark: 'feishu' }

/**
 * Decision about the destination of each key. `process`: the key is set in the configuration of the process. `state`:
 * its plugin generates the value and never sends it. `nowhere`: the value is not sent to an address in another key. A
 * list contains the keys that decide where the value is sent.
 */
const decisions: Readonly<Record<string, 'process' | 'state' | 'nowhere' | 'locked' | readonly string[]>> = {
  'platform.acme.chat.room': 'nowhere',
  'platform.authenticators.secret-key': 'state',
  'platform.cache.password': 'process',
  'platform.cache.sentinel.password': 'process',
  'platform.database.password': 'process',
  'platform.iam.auth.login.verification.secret-key': 'state',
  'platform.delivery-receipts.aliyun.secret': 'nowhere',
  'platform.delivery-receipts.mailgun.secret': 'nowhere',
  'platform.delivery-receipts.postmark.secret': 'nowhere',
  'platform.delivery-receipts.resend.secret': 'nowhere',
  'platform.delivery-receipts.bounce-address-key': 'state',
  'platform.delivery-receipts.returned-mail.secret': 'nowhere',
  'platform.delivery-receipts.tencent.secret': 'nowhere',
  'platform.idempotency.secret-key': 'state',
  'platform.install.token': 'locked',
  'platform.mail.dkim.private-key': ['platform.mail.dkim.domain', 'platform.mail.dkim.selector'],
  'platform.mail.smtp.password': [
    'platform.mail.smtp.host',
    'platform.mail.smtp.port',
    'platform.mail.smtp.security',
    'platform.mail.smtp.username',
    'platform.mail.smtp.ca',
  ],
  'platform.notification.channels.mail.unsubscribe-key': 'process',
  'platform.notification.channels.mail.unsubscribe-secret': 'state',
  'platform.notification.inbox.preference-link-key': 'state',
  'platform.open-platform.security.secret-key': 'state',
  'platform.opentelemetry.headers': 'process',
  'platform.push.fcm.service-account': ['platform.push.fcm.endpoint'],
  'platform.push.secret-key': 'state',
  // Each secret contains the issuer and the client for which it was entered. The plugin compares them.
  'platform.sign-in-oidc.client-secrets': 'nowhere',
  'platform.sign-in-oidc.token-key': 'state',
  'platform.sms.aliyun.access-key-secret': ['platform.sms.aliyun.endpoint', 'platform.sms.aliyun.access-key-id'],
  'platform.sms.tencent.secret-key': ['platform.sms.tencent.endpoint', 'platform.sms.tencent.secret-id'],
  'platform.sms.twilio.auth-token': ['platform.sms.twilio.endpoint', 'platform.sms.twilio.account-sid'],
  'platform.social.accounts': ['platform.social.endpoint'],
  'platform.social.token-key': 'state',
  'platform.storage-s3.secret-access-key': [
    'platform.storage-s3.endpoint',
    'platform.storage-s3.region',
    'platform.storage-s3.access-key-id',
  ],
  'platform.storage.signing-key': 'process',
  'platform.suppression.hash-key': 'state',
  'platform.system-config.master-key': 'process',
  'platform.web3.secret-key': 'state',
  'platform.webhooks.secret-key': 'state',
}

const decisionOf = (key: string) => {
  const [, name = '', setting] = webhook.exec(key) ?? []
  if (setting === 'endpoint') return 'nowhere'
  if (setting !== 'secret') return decisions[key]
  const prefix = 'platform.notification.channels.webhook.providers'
  return [...new Set([name, codeOf[name] ?? name])].map((one) => `${prefix}.${one}.endpoint`)
}

t.test('every sensitive key has a decision about its destination', async (t) => {
  const secrets = [...catalogue.values()].filter(({ sensitive }) => sensitive)
  t.ok(secrets.length > 50)
  for (const { key, scope, state, editable, destination } of secrets) {
    const kind = scope ?? (state ? 'state' : editable ? undefined : 'locked')
    const declared = kind ?? (destination?.length === 0 ? 'nowhere' : destination)
    t.strictSame(declared, decisionOf(key), key)
  }
  for (const key of Object.keys(decisions)) t.ok(catalogue.get(key)?.sensitive, `${key} exists`)
})

/** Keys whose names look like a path or a signing key, although their values are neither. */
const harmless = new Set([
  'platform.http.context-path',
  'platform.install.root-route.mode',
  'platform.install.root-route.target',
  'platform.storage.max-file-size',
  'platform.view.root.target',
])

t.test('signing keys and paths of the host are set in the environment of the process', async (t) => {
  const isSuspicious = ({ key, type, state }: { key: string; type: string; state?: boolean }) =>
    type === 'string' &&
    !state &&
    /(?:^|[.-])(?:directory|file|path|root|signing-key|unsubscribe-key|master-key)(?:[.-]|$)/.test(key)
  const found = [...catalogue.values()].filter((entry) => isSuspicious(entry) && !harmless.has(entry.key))
  t.ok(found.length >= 11)
  for (const { key, scope } of found) t.equal(scope, 'process', key)
  for (const key of harmless) t.ok(catalogue.has(key), `${key} exists`)
})
