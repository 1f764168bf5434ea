import { RejectedProofError } from '@plinth/iam'
import { type AuditTexts, defineBusinessErrors, type PermissionDeclaration, bilingual as text } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('sign-in-oidc', en['sign-in-oidc'], {
  'provider-unknown': '404',
  'provider-unavailable': '503',
  rejected: '401',
  'account-missing': '403',
  'domain-not-allowed': '403',
  'provider-required': '403',
  'identity-required': '409',
  'identity-unknown': '404',
  'claims-invalid': '400',
  'rule-target': '400',
  'rule-unknown': '404',
})

/** Returns the error of every callback that is not valid. Only the audit contains the reason. */
export const rejected = (reason: string) =>
  businessError('rejected', { cause: new RejectedProofError(`sign-in-oidc.${reason}`) })

/** Name of this login method in the audit and of the proof method. */
export const methodName = 'oidc'

export const permissionCodes = {
  providerView: 'sign-in-oidc:provider:view',
  ruleView: 'sign-in-oidc:rule:view',
  ruleSave: 'sign-in-oidc:rule:save',
  identityView: 'sign-in-oidc:identity:view',
  identityDelete: 'sign-in-oidc:identity:delete',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.providerView, displayName: text('View sign-in providers', '查看登录提供方') },
  { code: permissionCodes.identityView, displayName: text('View linked identities of users', '查看用户的关联身份') },
  {
    code: permissionCodes.identityDelete,
    displayName: text('Remove linked identities of users', '移除用户的关联身份'),
  },
]

export const audited: Readonly<Record<string, AuditTexts>> = {
  'oidc-identity': {
    title: text('Linked identity', '关联身份'),
    actions: { link: text('Link', '关联'), unlink: text('Remove the link', '解除关联') },
    facts: {
      userId: { title: text('User', '用户'), labels: 'iam.user', page: 'iam.user' },
      provider: { title: text('Provider', '提供方') },
      issuer: { title: text('Issuer', '签发者') },
    },
  },
}
