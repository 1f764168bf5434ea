import type { Accounts } from '@plinth/iam'
import { isJsonObject, parseJsonOrUndefined } from '@plinth/outgoing-http'
import { emailOf, isDomainAllowed } from './claims.ts'
import { businessError } from './declarations.ts'
import type { ClaimGrants } from './grants.ts'
import { hasTrustedFactor } from './provider-login.ts'
import { issuerKeyOf, type Provider } from './providers.ts'

/** The result that a sign-in with the given claims would have. Nothing is changed. */
export interface ClaimPreview {
  outcome: 'known-account' | 'new-account' | 'account-missing' | 'domain-not-allowed' | 'claim-missing'
  roleIds: number[]
  keptRoleIds: number[]
  orgId: number | null
  silentClaims: string[]
  hasSecondFactor: boolean
}

interface PreviewDependencies {
  readonly grants: Pick<ClaimGrants, 'evaluate'>
  readonly accounts: Pick<Accounts, 'findByExternal'>
}

/**
 * Returns what a user with these claims would get. Uses the same functions as the sign-in.
 *
 * @throws BusinessError "400" `sign-in-oidc.claims-invalid`
 */
export async function previewOf(
  provider: Provider,
  text: string,
  { grants, accounts }: PreviewDependencies,
): Promise<ClaimPreview> {
  const claims = parseJsonOrUndefined(text)
  if (!isJsonObject(claims)) throw businessError('claims-invalid', { data: { field: 'claims' } })
  const result = await grants.evaluate(provider, claims)
  const { issuer, allowedDomains, missingClaim, createAccounts } = provider
  const subject = String(claims['sub'] ?? '')
  const outcome = async () => {
    if (!isDomainAllowed(allowedDomains, { issuer, email: emailOf(claims), hostedDomain: claims['hd'] }))
      return 'domain-not-allowed'
    if (missingClaim === 'reject' && result.silentClaims.length > 0) return 'claim-missing'
    if (await accounts.findByExternal({ provider: issuerKeyOf(issuer), subject })) return 'known-account'
    return createAccounts ? 'new-account' : 'account-missing'
  }
  return {
    outcome: await outcome(),
    roleIds: [...result.roleIds],
    keptRoleIds: [...result.keptRoleIds],
    orgId: result.orgId ?? null,
    silentClaims: [...result.silentClaims],
    hasSecondFactor: hasTrustedFactor(provider, claims),
  }
}
