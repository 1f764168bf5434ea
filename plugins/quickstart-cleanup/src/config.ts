import { key } from '@plinth/kernel'

export const keys = {
  'platform.install.quickstart-cleanup.enabled': key.boolean({
    title: { en: 'Removal of demo data', 'zh-CN': '演示数据清理' },
    description: {
      en: 'Whether operators may remove demo data. The installation does not affect it.',
      'zh-CN': '是否允许操作员清理演示数据；不受安装流程影响。',
    },
    default: true,
    reload: 'live',
  }),
}
