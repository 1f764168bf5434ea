import type { LocalizedText } from '@plinth/config-schema'

/** A permission that roles can be given. */
export interface PermissionDeclaration {
  /**
   * Colon-separated code, for example `rate-limit:view`.
   *
   * @example code: 'acme-sms:balance:view'
   */
  readonly code: string
  /**
   * @example displayName: { en: 'View the balance', 'zh-CN': '查看余额' }
   */
  readonly displayName: LocalizedText
  /**
   * @example description: { en: 'What is left of the account.', 'zh-CN': '账户剩余金额。' }
   */
  readonly description?: LocalizedText
}
