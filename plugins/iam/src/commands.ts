import type { Database, database } from '@plinth/database'
import type { CommandDeclaration, kernel } from '@plinth/kernel'
import { readSecret, type SecretInputOptions } from '@plinth/kernel/host'
import { englishText, PermissionCatalogue } from './access/permission-catalogue.ts'
import { type Accounts, accounts, credentials, type personalRecords } from './contract.ts'
import { iamError } from './declarations.ts'
import { Role, RolePermission } from './entities.ts'
import { assertMigrated } from './migrations/assert-migrated.ts'
import { personalCommands } from './personal-data/commands.ts'

/**
 * Reads the new password of a user; see `readSecret`.
 *
 * @throws PlinthError `PLINTH_IAM_PASSWORD_INPUT`
 */
export const readPassword = (options: Pick<SecretInputOptions, 'fromStandardInput' | 'signal' | 'terminal'>) =>
  readSecret({ ...options, repeats: true, error: (reason) => iamError('PLINTH_IAM_PASSWORD_INPUT', { reason }) })

type Uses = {
  requires: { kernel: typeof kernel; database: typeof database }
  provides: readonly [typeof accounts, typeof credentials, typeof personalRecords]
}
type Command = CommandDeclaration<Uses>

const actor = { name: 'cli', clientIp: '', traceId: '', userAgent: '' }

const adminCreate: Command = {
  name: 'admin create',
  summary: 'create a user with the role super-admin',
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

const adminRecover: Command = {
  name: 'admin recover',
  summary:
    'set a new password for a user who can no longer sign in, remove the second factors, and end the sessions and API tokens of the user',
  // The plugins of second factors do not have to be set up before iam.
  setsUp: 'possible',
  options: [
    { flags: '--username <name>', description: 'user name' },
    { flags: '--password-stdin', description: 'read the password from standard input instead of asking for it' },
    {
      flags: '--drop-factor-rule',
      description: 'if no loaded plugin offers a second factor, no longer require one of the roles of the user',
    },
  ],
  async run({ services, own }, { options, output, signal }) {
    const { username, passwordStdin, dropFactorRule } = options
    if (typeof username !== 'string')
      throw iamError('PLINTH_IAM_RECOVER_OPTIONS', { reason: 'The option --username is missing' })
    await assertMigrated(services.database)
    const account = await own(accounts).findByUsername(username)
    if (account === undefined)
      throw iamError('PLINTH_IAM_RECOVER_OPTIONS', { reason: `There is no user "${username}"` })
    const recovery = own(credentials)
    const password = await readPassword({ fromStandardInput: passwordStdin === true, signal })
    const passwordHash = await recovery.hashPassword(account.id, password)
    const facts = await recovery.change(account.id, actor, async (locked) => {
      locked.setPassword(passwordHash)
      const secondFactors = await locked.resetSecondFactors()
      const endedSessions = await locked.endCredentials()
      const unmet = await locked.unmetFactorRules(dropFactorRule === true)
      const [droppedRules, unmetRules] = dropFactorRule === true ? [unmet, []] : [[], unmet]
      await locked.record('user.recover', { endedSessions, secondFactors, droppedRules })
      return { endedSessions, secondFactors, droppedRules, unmetRules }
    })
    const { secondFactors, droppedRules, unmetRules } = facts
    const { id, enabled } = account
    const note = enabled ? '' : ' The account is disabled: another administrator must enable it.'
    const factors = secondFactors.length === 0 ? '' : ` Removed second factors: ${secondFactors.join(', ')}.`
    const dropped =
      droppedRules.length === 0 ? '' : ` These roles no longer require a second factor: ${droppedRules.join(', ')}.`
    const unmet =
      unmetRules.length === 0
        ? ''
        : ` The user still cannot sign in: these roles require a second factor, and no loaded plugin offers one: ${unmetRules.join(', ')}. Add such a plugin, for example @plinth/authenticators, or run the command again with --drop-factor-rule.`
    output.result(
      { id, username, ...facts, enabled },
      `Set the password of "${username}".${factors}${dropped}${note}${unmet}`,
    )
  },
}

const permissions: Command = {
  name: 'permissions',
  summary: 'list all permissions of the loaded plugins and the roles that have them',
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
    const cells = rows.map(({ code, plugin, name, roles }) => [code, plugin, name, roles.join(', ')])
    output.table(rows, [['PERMISSION', 'PLUGIN', 'NAME', 'ROLES'], ...cells])
  },
}

export const commands: readonly Command[] = [adminCreate, adminRecover, permissions, ...personalCommands]

/**
 * Returns the codes of the roles that have each permission. Returns `undefined` if the database is not migrated yet;
 * the command can list permissions anyway.
 */
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
