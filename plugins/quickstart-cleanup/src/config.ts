import { key } from '@plinth/kernel'

export const keys = {
  'platform.install.quickstart-cleanup.enabled': key.boolean({
    title: { en: 'Removal of demo data', 'zh-CN': '演示数据清理' },
    description: {
      en: 'Whether operators may remove demo data. Independent of the installation and its state.',
      'zh-CN': '是否允许运维人员清理演示数据，与安装流程及其状态无关。',
    },
    default: true,
    reload: 'live',
  }),
}
