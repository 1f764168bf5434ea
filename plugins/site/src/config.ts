import { guardsPermission, key } from '@plinth/kernel'

export const keys = {
  'platform.site.name': key.string({
    title: { en: 'Site name', 'zh-CN': '站点名称' },
    description: {
      en: 'Name of the product in pages and messages. Empty: the name in the product file.',
      'zh-CN': '在页面和消息中标识本产品；留空则使用产品文件中的名称。',
    },
    default: '',
    maxLength: 64,
    reload: 'live',
  }),
  'platform.site.title': key.string({
    title: { en: 'Site title', 'zh-CN': '站点标题' },
    description: {
      en: 'Title of the pages and of the API description. Empty: the site name.',
      'zh-CN': '页面和接口描述的标题；留空则使用站点名称。',
    },
    default: '',
    maxLength: 128,
    reload: 'live',
  }),
  'platform.site.url': key.string({
    title: { en: 'Site address', 'zh-CN': '站点地址' },
    description: {
      en: 'Public address of the product, including the context path, for example https://shop.example.com. Passkeys only work for the host for which they were created: after a change of the host, users need another way to sign in.',
      'zh-CN':
        '本产品的公开访问地址，含上下文路径，例如 https://shop.example.com。通行密钥只对创建时的主机名有效：更改主机名后，用户需要使用其他登录方式。',
    },
    default: '',
    maxLength: 512,
    pattern: '^(https?://[^\\s/?#]+(/[^\\s?#]*)?)?$',
    rule: {
      en: 'be empty or an http or https address without "?" and "#"',
      'zh-CN': '为空，或是不含“?”和“#”的 http 或 https 地址',
    },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.site.time-zone': key.timeZone({
    title: { en: 'Site time zone', 'zh-CN': '站点时区' },
    description: {
      en: 'Business rules use this time zone for days and months. It is independent of the time zone of the process.',
      'zh-CN': '业务规则的日期和月份按此时区计算，与进程时区无关。',
    },
    default: 'UTC',
    reload: 'live',
  }),
}
