import t from 'tap'
import { fits, holds, type Permission, type Role } from '../web/admin/own/role-matrix/roles.ts'

t.test('the search finds a permission by all words of its code, name or plugin, in any case', (t) => {
  const permission: Permission = {
    code: 'iam:user:view',
    name: 'View users',
    description: null,
    plugin: 'iam',
    pluginTitle: 'Accounts',
    loaded: true,
  }
  for (const query of ['', 'user', 'view users', 'USERS View', 'accounts view', 'iam:user', 'view  iam'])
    t.equal(fits(permission, query), true, query)
  for (const query of ['view roles', 'roles', 'accounts delete']) t.equal(fits(permission, query), false, query)
  t.end()
})

t.test('the built-in role has every permission, another role those of its list', (t) => {
  const role = { builtIn: false, permissions: ['iam:user:view'] } as unknown as Role
  t.equal(holds(role, 'iam:user:view'), true)
  t.equal(holds(role, 'iam:user:delete'), false)
  t.equal(holds({ ...role, builtIn: true }, 'iam:user:delete'), true)
  t.end()
})
