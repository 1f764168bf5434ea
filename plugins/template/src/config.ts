import { key } from '@plinth/kernel'

export const keys = {
  'platform.template.compile-deadline': key.duration({
    title: { en: 'Deadline of saving a template', 'zh-CN': '保存模板的时限' },
    description: {
      en: 'A template that takes longer to compile is refused.',
      'zh-CN': '编译时间超过此值的模板会被拒绝。',
    },
    default: '10s',
    minimum: '1s',
    maximum: '1m',
    reload: 'live',
  }),
  'platform.template.cache-size': key.bytes({
    title: { en: 'Memory for compiled templates', 'zh-CN': '已编译模板的内存' },
    description: {
      en: 'Those that were not used for longest are read again from the database.',
      'zh-CN': '超出后，最久未使用的模板会重新从数据库读取。',
    },
    default: '32MiB',
    minimum: 1,
  }),
}
