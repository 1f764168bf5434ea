import { bilingual, localize } from '@plinth/kernel'
import { superAdminRole } from '../contract.ts'

const builtInName = bilingual('Super administrator', '超级管理员')

/** Returns the name of a role. The name of the built-in role is in the language of the request. */
export const roleName = ({ code, name }: { readonly code: string; readonly name: string }, locale: string): string =>
  code === superAdminRole ? localize(builtInName, locale) : name
