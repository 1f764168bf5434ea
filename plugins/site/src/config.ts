import { key } from '@plinth/kernel'

export const keys = {
  'platform.site.name': key.string({
    title: { en: 'Name of the site', 'zh-CN': '站点名称' },
    description: {
      en: 'Names the product in pages and messages. Empty: the name of the product file.',
      'zh-CN': '在页面和消息中标识本产品；留空则使用产品文件中的名称。',
    },
    default: '',
    maxLength: 64,
    reload: 'live',
  }),
  'platform.site.title': key.string({
    title: { en: 'Title of the site', 'zh-CN': '站点标题' },
    description: {
      en: 'Title of pages and of the API description. Empty: the name.',
      'zh-CN': '页面和接口描述的标题；留空则使用名称。',
    },
    default: '',
    maxLength: 128,
    reload: 'live',
  }),
  'platform.site.url': key.string({
    title: { en: 'Address of the site', 'zh-CN': '站点地址' },
    description: {
      en: 'Address at which people and programs reach the product, with its context path, for example https://shop.example.com.',
      'zh-CN': '用户和程序访问本产品的地址，含上下文路径，例如 https://shop.example.com。',
    },
    default: '',
    maxLength: 512,
    pattern: '^(https?://[^\\s/?#]+(/[^\\s?#]*)?)?$',
    rule: {
      en: 'be empty or an http or https address without "?" and "#"',
      'zh-CN': '为空，或是不含“?”和“#”的 http 或 https 地址',
    },
    reload: 'live',
  }),
  'platform.site.time-zone': key.timeZone({
    title: { en: 'Time zone of the site', 'zh-CN': '站点时区' },
    description: {
      en: 'Days and months of business rules follow it. Not the time zone of the process.',
      'zh-CN': '业务规则的日期和月份按此时区计算，与进程时区无关。',
    },
    default: 'UTC',
    reload: 'live',
  }),
}
