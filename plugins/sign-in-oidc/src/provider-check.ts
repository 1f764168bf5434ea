import type { ClientSecret, OidcConfig, ProviderEntry } from './config.ts'
import { type ProviderClients, reasonOf } from './provider-clients.ts'
import { problemOfEntry, providerOf } from './providers.ts'

const providersKey = 'platform.sign-in-oidc.providers'
const secretsKey = 'platform.sign-in-oidc.client-secrets'

/**
 * Verifies providers before they are stored: their ids and issuers, and that each new or changed provider responds with
 * exactly this issuer. A provider that did not change is not asked, so that others can be changed while it is down.
 */
export function verifyProviders(config: OidcConfig, clients: Pick<ProviderClients, 'discover'>): void {
  config.onVerify(providersKey, async (entries, signal, after) => {
    const known = config.get(providersKey)
    const secrets = after(secretsKey)
    const problems = await Promise.all(
      Object.entries(entries).map(async ([id, entry]) => {
        const problem = problemOfEntry(id, entry)
        if (problem !== undefined || !needsDiscovery(entry, known[id])) return problem
        return discoveryProblem(id, entry, secrets, clients, signal)
      }),
    )
    const found = problems.filter((problem) => problem !== undefined)
    if (found.length > 0) throw new Error(found.join(' '))
  })
  config.onVerify(secretsKey, (secrets, _signal, after) => {
    const entries = after(providersKey)
    const unbound = Object.entries(secrets).flatMap(([id, { issuer, clientId }]) => {
      const entry = entries[id]
      return entry === undefined || (entry.issuer === issuer && entry.clientId === clientId) ? [] : [id]
    })
    if (unbound.length > 0)
      throw new Error(`The issuer or the client differs from that of the provider: ${unbound.join(', ')}.`)
  })
}

const needsDiscovery = (entry: ProviderEntry, known: ProviderEntry | undefined) =>
  entry.enabled !== false && (entry.issuer !== known?.issuer || known.enabled === false)

async function discoveryProblem(
  id: string,
  entry: ProviderEntry,
  secrets: Readonly<Record<string, ClientSecret>>,
  clients: Pick<ProviderClients, 'discover'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await clients.discover(providerOf(id, entry, secrets), signal)
    return undefined
  } catch (error) {
    return `"${id}": ${reasonOf(error)}`
  }
}
