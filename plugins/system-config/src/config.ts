import { guardsPermission, key } from '@plinth/kernel'
import { approvalEntryPattern } from './requests/approval-rule.ts'

/** The master key can come from any source except the database, whose secrets it encrypts. */
export const keys = {
  'platform.system-config.poll-interval': key.duration({
    title: { en: 'Poll interval', 'zh-CN': '轮询间隔' },
    description: {
      en: 'How often each instance checks for changes that another instance saved.',
      'zh-CN': '每个实例检查其他实例所保存更改的间隔。',
    },
    default: '3s',
    minimum: '100ms',
    maximum: '1m',
    reload: 'live',
  }),
  'platform.system-config.master-key': key.string({
    title: { en: 'Master key', 'zh-CN': '主密钥' },
    description: {
      en: 'Encrypts stored secrets: 32 random bytes in base64 or hex. You can enter several keys, separated by commas: the first key encrypts, all keys decrypt. Empty: the key file is used.',
      'zh-CN':
        '用于加密存储的密文：32 个随机字节，以 base64 或十六进制书写。可用逗号分隔多个：第一个用于加密，全部可用于解密。留空则使用密钥文件。',
    },
    default: '',
    sensitive: true,
    scope: 'process',
  }),
  'platform.system-config.master-key-file': key.string({
    title: { en: 'Master key file', 'zh-CN': '主密钥文件' },
    description: {
      en: 'The path is relative to the directory of the product file. The file is created with random bytes when the first secret is stored. Only its owner can read it. Keep a copy: without the file, stored secrets are lost.',
      'zh-CN':
        '相对于产品文件所在目录。首次存储密文时以随机字节创建，仅所有者可读。请妥善备份：丢失后已存储的密文将无法恢复。',
    },
    default: 'data/master.key',
    minLength: 1,
    scope: 'process',
  }),
  'platform.system-config.approval.keys': key.stringList({
    title: { en: 'Keys that a second operator approves', 'zh-CN': '须由第二人审批的配置项' },
    description: {
      en: 'Changes of these keys in the back office wait until another operator approves them. Entries: a key, a prefix such as platform.mail.*, a group such as @group:iam, @guards for all keys with a permission of their own, @secrets. While the list is not empty, it belongs to these keys too.',
      'zh-CN':
        '在管理后台修改这些配置项后，须由另一位操作员批准才会生效。可填：配置项、前缀（如 platform.mail.*）、分组（如 @group:iam）、@guards（所有另需权限的配置项）、@secrets（所有密文）。列表不为空时，本项自身也须审批。',
    },
    default: [],
    items: { pattern: approvalEntryPattern },
    rule: {
      en: 'be a key, a prefix with .*, @group: and a group, @guards or @secrets',
      'zh-CN': '是配置项、以 .* 结尾的前缀、@group: 加分组、@guards 或 @secrets',
    },
    uniqueItems: true,
    reload: 'live',
    permission: guardsPermission,
  }),
}
