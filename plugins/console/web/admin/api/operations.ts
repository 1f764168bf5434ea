import type { DataOf } from '@plinth/client'

/** An operation in the form that a page receives from the server. */
export interface Callable {
  readonly method: string
  /** Path of the operation, with parameters in braces. */
  readonly path: string
}

export type Value = string | number | boolean | null | undefined

/** Sign-in and sign-out operations, which every product with a back office has. */
export const login = { method: 'POST', path: '/api/v1/auth/login' } as const
export const provenIdentity = { method: 'GET', path: '/api/v1/auth/proof' } as const
export const proveIdentity = { method: 'POST', path: '/api/v1/auth/proof' } as const
export const walletProofChallenge = { method: 'POST', path: '/api/v1/auth/wallet/proof/challenge' } as const
export const walletProof = { method: 'POST', path: '/api/v1/auth/wallet/proof' } as const
export const passkeyProofOptions = { method: 'POST', path: '/api/v1/auth/proof/passkey/options' } as const
export const passkeyProof = { method: 'POST', path: '/api/v1/auth/proof/passkey' } as const
export const totpProof = { method: 'POST', path: '/api/v1/auth/proof/totp' } as const
export const linkedProviders = { method: 'GET', path: '/api/v1/auth/oidc/identities' } as const
export const providerLink = { method: 'POST', path: '/api/v1/auth/oidc/{provider}/link/callback' } as const
export const providerProofStart = { method: 'POST', path: '/api/v1/auth/oidc/{provider}/proof/start' } as const
export const providerProof = { method: 'POST', path: '/api/v1/auth/oidc/{provider}/proof/callback' } as const
export const providerLogout = { method: 'POST', path: '/api/v1/auth/oidc/logout' } as const
export const logout = { method: 'POST', path: '/api/v1/auth/logout' } as const
export const ownAccount = { method: 'GET', path: '/api/v1/iam/users/me' } as const
export const navigationPages = { method: 'GET', path: '/api/v1/admin/console/pages' } as const
export const onePage = { method: 'GET', path: '/api/v1/admin/console/pages/{id}' } as const
export const pageRows = { method: 'GET', path: '/api/v1/admin/console/pages/{id}/export' } as const
export const importedRows = { method: 'POST', path: '/api/v1/admin/console/pages/{id}/import' } as const
export const lookups = { method: 'GET', path: '/api/v1/admin/console/lookups' } as const
export const attention = { method: 'GET', path: '/api/v1/admin/console/attention' } as const
export const changeAttention = { method: 'PUT', path: '/api/v1/admin/console/attention/{id}' } as const
export const shareView = { method: 'PUT', path: '/api/v1/admin/console/views' } as const
export const removeView = { method: 'DELETE', path: '/api/v1/admin/console/views/{id}' } as const
export const charts = { method: 'GET', path: '/api/v1/admin/console/charts' } as const
export const events = { method: 'GET', path: '/api/v1/admin/console/events' } as const
export const labels = { method: 'GET', path: '/api/v1/admin/console/labels' } as const

export type Account = DataOf<'getIamUsersMe'>

/** Accounts of providers that the user has linked. `provider` is null if the product no longer has it. */
export type LinkedProviders = DataOf<'getAuthOidcIdentities'>

/** Providers with which users can sign in. */
export type SignInProviders = DataOf<'getAuthOidcProviders'>
