import { purgeKeys } from '@plinth/coordination'
import { bilingual, key } from '@plinth/kernel'

export const keys = {
  'platform.template.compile-deadline': key.duration({
    title: { en: 'Template compile timeout', 'zh-CN': '模板编译超时时间' },
    description: {
      en: 'A template that takes longer to compile is rejected.',
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
      en: 'When this memory is full, the least recently used templates are removed. They are loaded again from the database when needed.',
      'zh-CN': '超出后移除最久未使用的模板，需要时重新从数据库加载。',
    },
    default: '32MiB',
    minimum: 1,
  }),
  'platform.template.versions.retention': key.duration({
    title: { en: 'Retention of template versions', 'zh-CN': '模板版本保留时长' },
    description: {
      en: 'Time for which a version is stored after it was replaced or its template was deleted. The minimum is longer than a message can wait.',
      'zh-CN': '版本被取代或模板被删除后的保留时长；最小值长于消息的最长等待时间。',
    },
    default: '1095d',
    minimum: '400d',
    reload: 'live',
  }),
  ...purgeKeys(
    'platform.template.versions',
    bilingual('Interval for removing old template versions.', '清除旧模板版本的间隔。'),
  ),
}
