import type { Database, database } from '@plinth/database'
import type { CommandDeclaration, kernel } from '@plinth/kernel'
import { englishText, PermissionCatalogue } from './access/permission-catalogue.ts'
import { type Accounts, accounts } from './contract.ts'
import { Role, RolePermission } from './entities.ts'
import { iamError } from './errors.ts'
import { readPassword } from './passwords/password-prompt.ts'

type Uses = { requires: { kernel: typeof kernel; database: typeof database }; provides: readonly [typeof accounts] }
type Command = CommandDeclaration<Uses>

const actor = { name: 'cli', clientIp: '', traceId: '', userAgent: '' }

const adminCreate: Command = {
  name: 'admin create',
  summary: 'Create a user with the role super-admin',
  setsUp: 'needed',
  options: [
    { flags: '--username <name>', description: 'user name' },
    { flags: '--email <address>', description: 'e-mail address' },
    { flags: '--password-stdin', description: 'read the password from standard input instead of asking for it' },
  ],
  async run({ services, own }, { options, output, signal }) {
    const { username, email, passwordStdin } = options
    if (typeof username !== 'string') throw iamError('PLINTH_IAM_ADMIN_OPTIONS')
    await assertMigrated(services.database)
    const password = await readPassword({ fromStandardInput: passwordStdin === true, signal })
    const users: Accounts = own(accounts)
    await users.seed()
    const address = typeof email === 'string' ? { email } : {}
    const { id } = await users.createSuperAdministrator({ username, password, ...address }, actor)
    output.result({ id, username }, `Created administrator "${username}".`)
  },
}

const permissions: Command = {
  name: 'permissions',
  summary: 'All permissions that the loaded plugins declare, and the roles that hold them',
  setsUp: 'needed',
  async run({ services }, { output }) {
    const declared = new PermissionCatalogue(services.kernel.plugins).declared
    const holders = await rolesByPermission(services.database)
    const rows = declared.map(({ code, plugin, displayName }) => ({
      code,
      plugin,
      name: englishText(displayName),
      roles: holders?.get(code) ?? [],
    }))
    const line = ({ code, plugin, name, roles }: (typeof rows)[number]) =>
      `${code}  ${plugin}  ${name}${roles.length > 0 ? `  (${roles.join(', ')})` : ''}`
    output.result(rows, rows.map(line).join('\n'))
  },
}

export const commands: readonly Command[] = [adminCreate, permissions]

/** A command migrates nothing by itself. */
async function assertMigrated(db: Database): Promise<void> {
  const { pending } = await db.migrationStatus()
  if (pending.length > 0) throw iamError('PLINTH_IAM_MIGRATION_PENDING', { count: pending.length })
}

/** `undefined` before the database is migrated: the declarations can be listed all the same. */
async function rolesByPermission(db: Database): Promise<Map<string, string[]> | undefined> {
  const { pending } = await db.migrationStatus()
  if (pending.length > 0) return undefined
  const em = db.fork()
  const codes = new Map((await em.findAll(Role)).map(({ id, code }) => [id, code]))
  const holders = new Map<string, string[]>()
  for (const { roleId, permissionCode } of await em.findAll(RolePermission)) {
    const code = codes.get(roleId)
    if (code !== undefined) holders.set(permissionCode, [...(holders.get(permissionCode) ?? []), code])
  }
  return holders
}
