import { errorTable, type PermissionDeclaration } from '@plinth/kernel'
import type { SentenceParams } from './texts.ts'

/** Coded errors of this plugin, without those of the `.env` writer in env-file-text.ts. */
export const installError = errorTable({
  PLINTH_INSTALL_ANSWERS: `The installation answers are invalid: {{reason}}.
    Correct the answers file, the option or the variable. \`plinth install --help\` lists the fields.`,
  PLINTH_INSTALL_DATABASE_UNUSABLE: `The configured database cannot be used, so the product runs on an empty database in memory: {{reason}}
    Start the database, or correct the connection on the installation page or in the .env file.`,
  PLINTH_INSTALL_STATE_LOST: `The product was installed on this host, but the database contains no installation. The installer stays locked.
    Restore the database, or correct platform.database.*, and start again. To install from scratch, remove {{marker}} and start again.`,
})

export const permissionCodes = { view: 'install:view', manage: 'install:manage' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.view,
    displayName: { en: 'View the installation, its log and its audit', 'zh-CN': '查看安装状态、日志和审计' },
  },
  {
    code: permissionCodes.manage,
    displayName: {
      en: 'Reset the installation, mark it as installed, and migrate the database',
      'zh-CN': '重置安装、标记为已安装、迁移数据库',
    },
  },
]

/**
 * Codes of the built-in steps (decision B57). Tasks of plugins run after the migration and before the administrator is
 * created.
 */
export const builtInStepCodes = {
  entry: 'security-entry',
  preflight: 'environment-preflight',
  validation: 'config-validation',
  write: 'config-write',
  migration: 'database-migration',
  baseIdentity: 'base-identity',
  administrator: 'administrator',
  lock: 'install-lock',
} as const

/** Codes of records that do not belong to a step. */
export const recordRemarkCodes = { retryRequested: 'retry-requested' } as const

/** Ends a step with a message for the person who installs. `text` is the message name. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly text: string
  readonly params: SentenceParams
  /** Form field to correct, for example `database.host`, or empty. */
  readonly field: string

  constructor(text: string, params: SentenceParams = {}, cause?: unknown, field = '') {
    super(text, cause === undefined ? {} : { cause })
    this.text = text
    this.params = params
    this.field = field
  }
}
