/** Follows the guide "Sign in with a provider" from a product without providers, with the operations that the pages call. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import {
  administrator,
  describeOutcome,
  newBrowser,
  oidc,
  providersKey,
  redirectUri,
  secretsKey,
  startOidc,
} from './fixtures/product.ts'
import { clientId, clientSecret, startProvider } from './fixtures/provider.ts'

onDatabase(t, 'an administrator sets up a provider, links an identity, and signs in with it', async (t, db) => {
  const provider = await startProvider(t, { redirectUris: [redirectUri('keycloak')] })
  const product = await startOidc(t, db, {
    providers: {},
    config: {
      'platform.iam.fresh-proof.enabled': true,
      'platform.site.url': '',
      'platform.outgoing-http.allow-http': false,
      'platform.outgoing-http.allowed-hosts': [],
    },
  })
  const { call } = product
  const token = await product.adminToken()
  const save = async (values: object) => {
    const changes = Object.entries(values).map(([key, value]) => ({ key, action: 'set', value }))
    return call('POST', '/api/v1/admin/system-config/changes', { token, body: { changes } })
  }
  const { issuer } = provider
  const client = { issuer, clientId }
  const settings = {
    [providersKey]: { keycloak: { ...client, title: 'Keycloak' } },
    [secretsKey]: { keycloak: { ...client, secret: clientSecret } },
  }
  const early = await save(settings)
  t.equal(early.code, '400', 'the address of the provider is not allowed yet')
  t.match(early.body, /keycloak/, 'the message names the provider')
  t.equal((await save({ 'platform.site.url': 'https://app.example.com' })).code, '200')
  const hosts = { 'platform.outgoing-http.allowed-hosts': [provider.host], 'platform.outgoing-http.allow-http': true }
  t.equal((await save(hosts)).code, '200')
  const wrong = { [providersKey]: { keycloak: { ...client, issuer: `${issuer}/` } } }
  t.match((await save(wrong)).body, new RegExp(issuer), 'the message contains the issuer to enter')
  t.equal((await save(settings)).code, '200')

  const listed = await call('GET', '/api/v1/admin/oidc/providers', { token })
  t.strictSame(
    listed.data.items.map(({ status, redirectUri: address }: { status: string; redirectUri: string }) => [
      status,
      address,
    ]),
    [['ready', redirectUri('keycloak')]],
  )
  const browser = newBrowser()
  const begun = await call('POST', `${oidc}/keycloak/link/start`, { token, jar: browser.jar })
  const { search: parameters } = await browser.provider.signIn(begun.data.url, 'boss')
  const body = { parameters }
  const linked = await call('POST', `${oidc}/keycloak/link/callback`, { token, jar: browser.jar, body })
  t.equal(describeOutcome(linked), '200')
  const signedIn = await product.signIn('keycloak', 'boss')
  const me = await call('GET', '/api/v1/iam/users/me', { token: signedIn.data.accessToken })
  t.equal(me.data.username, administrator.username)
})
