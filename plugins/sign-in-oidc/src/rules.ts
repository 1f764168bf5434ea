import type { Accounts, Operator } from '@plinth/iam'
import { isBusinessError } from '@plinth/kernel'
import { permission, pluginWith } from '@plinth/resource'
import { businessError, permissionCodes } from './declarations.ts'
import { Rule } from './entities.ts'
import type { Providers } from './providers.ts'

interface RuleParts {
  readonly accounts: Pick<Accounts, 'assertMayGrant'>
  readonly providers: Pick<Providers, 'find'>
}

interface Target {
  readonly roleId?: number | null | undefined
  readonly orgId?: number | null | undefined
}

const view = permission(permissionCodes.ruleView, 'View claim rules', '查看声明规则')
const save = permission(permissionCodes.ruleSave, 'Change claim rules', '修改声明规则')

/**
 * The writer of a rule decides which users of a provider get a role, so the writer needs everything that the role grants.
 * The same applies to the removal, because users then lose the role.
 */
async function assertMayWrite({ roleId, orgId }: Target, operator: Operator, { accounts }: RuleParts): Promise<void> {
  const grant = { roleIds: roleId == null ? [] : [roleId], orgId: orgId ?? null }
  await accounts.assertMayGrant(grant, { ...operator, userAgent: '' })
}

/** Rules are rows and not configuration, because only operations know who writes. */
export const rules = pluginWith<RuleParts>().resource(Rule, {
  area: 'sign-in-oidc',
  path: '/api/v1/admin/oidc/rules',
  notFound: 'rule-unknown',
  list: { access: view, scope: 'all', filters: ['provider', 'roleId'] },
  create: {
    access: save,
    scope: 'all',
    fresh: '5m',
    throws: [
      'iam.beyond-own-authority',
      'iam.organisation-out-of-scope',
      'iam.role-unknown',
      'sign-in-oidc.provider-unknown',
      'sign-in-oidc.rule-target',
    ],
    async prepare({ input, operator, parts }) {
      const provider = parts.providers.find(input.provider)
      if (provider === undefined) throw businessError('provider-unknown', { data: { field: 'provider' } })
      if ((input.roleId == null) === (input.orgId == null))
        throw businessError('rule-target', { data: { field: 'roleId' } })
      await assertMayWrite(input, operator, parts)
      return { issuer: provider.issuer, clientId: provider.clientId }
    },
  },
  remove: {
    access: save,
    scope: 'all',
    fresh: '5m',
    throws: ['iam.beyond-own-authority', 'iam.organisation-out-of-scope'],
    async prepare({ before, operator, parts }) {
      try {
        await assertMayWrite(before, operator, parts)
      } catch (error) {
        // The rule of a deleted role grants nothing.
        if (!isBusinessError(error) || error.reason !== 'iam.role-unknown') throw error
      }
    },
  },
  audit: { kind: 'oidc-rule' },
  page: { group: 'access', order: 42 },
})
