import { canonicalRequest, signatureHeaders, signatureOf } from '@plinth/open-platform'
import { privateKeyToAccount } from 'viem/accounts'
import { assertSuccess, recordingClient } from './clients.ts'
import type { Scene } from './scene.ts'

const wallet = privateKeyToAccount(`0x${'ab'.repeat(32)}`)

/** Returns a client that signs each request as an application. */
function signingClient({ url, successes }: Scene, appKey: string, secret: string) {
  const client = recordingClient(url, successes)
  client.use({
    async onRequest({ request }) {
      const { pathname, search } = new URL(request.url)
      const body = Buffer.from(await request.clone().arrayBuffer())
      const [timestamp, nonce] = [String(Math.floor(Date.now() / 1000)), crypto.randomUUID()]
      const canonical = canonicalRequest({ method: request.method, target: pathname + search, body, timestamp, nonce })
      const signature = signatureOf(secret, canonical ?? '')
      const values = { appKey, timestamp, nonce, signature }
      for (const name of ['appKey', 'timestamp', 'nonce', 'signature'] as const) {
        request.headers.set(signatureHeaders[name], values[name])
      }
    },
  })
  return client
}

/** Calls the operations on applications, and the operations that applications call. */
export async function callApps(scene: Scene): Promise<void> {
  const { admin } = scene
  const scopes = await assertSuccess(admin.GET('/api/v1/admin/open-platform/scopes'))
  const body = { name: 'Shop', scopes: scopes.map(({ code }) => code) }
  const app = await assertSuccess(admin.POST('/api/v1/admin/open-platform/apps', { body }))
  const params = { path: { id: app.id } }
  await assertSuccess(admin.GET('/api/v1/admin/open-platform/apps'))
  await assertSuccess(admin.GET('/api/v1/admin/open-platform/apps/{id}', { params }))
  await assertSuccess(admin.PUT('/api/v1/admin/open-platform/apps/{id}', { params, body: { name: 'Store' } }))
  await assertSuccess(admin.POST('/api/v1/admin/open-platform/apps/{id}/disable', { params, body: {} }))
  await assertSuccess(admin.POST('/api/v1/admin/open-platform/apps/{id}/enable', { params, body: {} }))
  const rotated = await assertSuccess(
    admin.POST('/api/v1/admin/open-platform/apps/{id}/rotate-secret', { params, body: {} }),
  )

  const caller = signingClient(scene, app.appKey, rotated.secret)
  await assertSuccess(caller.GET('/api/v1/open/whoami'))
  await assertSuccess(caller.POST('/api/v1/open/echo', { body: { message: 'hello' } }))
  const { address } = wallet
  const chain = { params: { path: { chain: 'evm' } } }
  const message = 'hello'
  const signature = await wallet.signMessage({ message })
  await assertSuccess(
    caller.POST('/api/v1/open/web3/chains/{chain}/wallet-signatures/personal/verify', {
      ...chain,
      body: { address, message, signature },
    }),
  )
  const types = { Mail: [{ name: 'text', type: 'string' }] }
  const typed = {
    domain: { name: 'Shop', version: '1' },
    types,
    primaryType: 'Mail',
    message: { text: 'hello' },
  } as const
  const typedData = JSON.stringify({
    ...typed,
    types: {
      ...types,
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
      ],
    },
  })
  await assertSuccess(
    caller.POST('/api/v1/open/web3/chains/{chain}/wallet-signatures/typed-data/verify', {
      ...chain,
      body: { address, typedData, signature: await wallet.signTypedData(typed) },
    }),
  )
  await assertSuccess(admin.GET('/api/v1/admin/open-platform/usage'))
  await assertSuccess(admin.DELETE('/api/v1/admin/open-platform/apps/{id}', { params }))
}

/** Calls the operations on webhook endpoints and their deliveries, and the lists of delivery receipts. */
export async function callWebhooks({ admin }: Scene): Promise<void> {
  await assertSuccess(admin.GET('/api/v1/admin/delivery-receipts/receipts'))
  await assertSuccess(admin.GET('/api/v1/admin/delivery-receipts/subscriptions'))
  await assertSuccess(admin.GET('/api/v1/admin/webhooks/event-types'))
  const body = { name: 'ERP', url: 'https://erp.example.org/hooks', eventTypes: ['order.paid'] }
  const { id } = await assertSuccess(admin.POST('/api/v1/admin/webhooks/endpoints', { body }))
  const params = { path: { id } }
  await assertSuccess(admin.GET('/api/v1/admin/webhooks/endpoints'))
  await assertSuccess(admin.GET('/api/v1/admin/webhooks/endpoints/{id}', { params }))
  await assertSuccess(admin.PUT('/api/v1/admin/webhooks/endpoints/{id}', { params, body: { name: 'Stock' } }))
  await assertSuccess(admin.POST('/api/v1/admin/webhooks/endpoints/{id}/rotate-secret', { params, body: {} }))
  await assertSuccess(admin.POST('/api/v1/admin/webhooks/endpoints/{id}/test', { params, body: {} }))
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
  await assertSuccess(admin.POST('/api/v1/admin/webhooks/endpoints/{id}/redeliver', { params, body: range }))
  await assertSuccess(admin.POST('/api/v1/admin/webhooks/endpoints/{id}/disable', { params, body: {} }))
  await assertSuccess(admin.POST('/api/v1/admin/webhooks/endpoints/{id}/enable', { params, body: {} }))
  const { items } = await assertSuccess(admin.GET('/api/v1/admin/webhooks/deliveries'))
  const delivery = { path: { id: items[0]?.id ?? 0 } }
  await assertSuccess(admin.GET('/api/v1/admin/webhooks/deliveries/{id}', { params: delivery }))
  await assertSuccess(admin.DELETE('/api/v1/admin/webhooks/endpoints/{id}', { params }))
  const { data: again } = await admin.POST('/api/v1/admin/webhooks/deliveries/{id}/redeliver', { params: delivery })
  if (again?.code !== '404')
    throw new Error(`a delivery of a deleted endpoint was sent again: ${JSON.stringify(again)}`)
}

/** Registers a browser and an app, and removes them. */
export async function callPush({ admin }: Scene): Promise<void> {
  const { publicKey } = await assertSuccess(admin.GET('/api/v1/push/web-push/public-key'))
  const keys = { p256dh: publicKey, auth: 'BTBZMqHH6r4Tts7J_aSIgg' }
  const endpoint = 'https://updates.push.services.mozilla.com/wpush/v2/gAAAAA'
  const browser = await assertSuccess(admin.POST('/api/v1/push/devices/web-push', { body: { endpoint, keys } }))
  const app = await assertSuccess(admin.POST('/api/v1/push/devices/fcm', { body: { token: 'bk3RNwTe3H0:CI2k' } }))
  await assertSuccess(admin.GET('/api/v1/push/devices'))
  await assertSuccess(admin.GET('/api/v1/admin/push/devices'))
  await assertSuccess(admin.GET('/api/v1/admin/push/devices/{id}', { params: { path: { id: app.id } } }))
  await assertSuccess(admin.DELETE('/api/v1/push/devices/{id}', { params: { path: { id: browser.id } } }))
  await assertSuccess(admin.DELETE('/api/v1/admin/push/devices/{id}', { params: { path: { id: app.id } } }))
}

/** Signs in with a wallet, and with codes by e-mail and text message. */
export async function callCodes({ publicClient, clientOf, user, sentCode }: Scene): Promise<void> {
  const { address } = wallet
  const challenge = { chainType: 'evm' as const, address }
  const { challengeId, message } = await assertSuccess(
    publicClient.POST('/api/v1/auth/wallet/challenge', { body: challenge }),
  )
  const signature = await wallet.signMessage({ message })
  const opened = await assertSuccess(
    publicClient.POST('/api/v1/auth/wallet/login', { body: { challengeId, address, signature } }),
  )
  const signedIn = clientOf(opened.accessToken ?? '')
  const proof = await assertSuccess(signedIn.POST('/api/v1/auth/wallet/proof/challenge', { body: challenge }))
  const body = {
    challengeId: proof.challengeId,
    address,
    signature: await wallet.signMessage({ message: proof.message }),
  }
  await assertSuccess(signedIn.POST('/api/v1/auth/wallet/proof', { body }))

  const email = 'carl@example.org'
  await assertSuccess(publicClient.POST('/api/v1/auth/verify/email-codes', { body: { email } }))
  const mailed = await sentCode(email)
  await assertSuccess(publicClient.POST('/api/v1/auth/verify/email-codes/check', { body: { email, code: mailed } }))
  const mobile = '+8613800138009'
  await assertSuccess(publicClient.POST('/api/v1/auth/verify/sms-codes', { body: { mobile } }))
  const sent = await sentCode(mobile)
  await assertSuccess(publicClient.POST('/api/v1/auth/verify/sms-codes/check', { body: { mobile, code: sent } }))

  const { email: own } = await assertSuccess(user.GET('/api/v1/iam/users/me'))
  const confirm = { email: own ?? '', scene: 'confirm-email' }
  await assertSuccess(publicClient.POST('/api/v1/auth/verify/email-codes', { body: confirm }))
  const code = await sentCode(own ?? '')
  await assertSuccess(user.POST('/api/v1/iam/users/me/email/confirm', { body: { code } }))
}
