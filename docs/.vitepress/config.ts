import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { apiModules, writeApiReference } from '../../scripts/api-reference/index.ts'
import { excludedPages } from './links.ts'
import { adaptDocuments } from './markdown.ts'
import { writePlainPages } from './plain-pages.ts'
import { searchOptions } from './search.ts'

// Pages must exist before the site is planned.
await writeApiReference()
// Node.js loads this module. With `import`, the bundler would include the sources of all plugins.
const referencePages = pathToFileURL(join(import.meta.dirname, '../../scripts/reference-pages.ts')).href
const { writeReferencePages }: typeof import('../../scripts/reference-pages.ts') = await import(referencePages)
const pluginsWithOperations = writeReferencePages()

const page = (text: string, link: string) => ({ text, link })

const tutorial = [
  page('Overview', '/tutorial/'),
  page('1. Create the product', '/tutorial/1-product'),
  page('2. Write a plugin', '/tutorial/2-plugin'),
  page('3. Store data', '/tutorial/3-table'),
  page('4. Add permissions', '/tutorial/4-routes'),
  page('5. Add a page', '/tutorial/5-page'),
  page('6. React to an event', '/tutorial/6-event'),
  page('7. Give points', '/tutorial/7-points'),
  page('8. Work at intervals', '/tutorial/8-task'),
  page('9. Test', '/tutorial/9-test'),
  page('10. Check and ship', '/tutorial/10-ship'),
]

const guides = [
  page('Build a product', '/integrator'),
  page('Write a plugin', '/third-party'),
  page('Verify a plugin', '/plugin-verify'),
  page('Operate a product', '/operator'),
]

const howTo = [
  page('Overview', '/how-to/'),
  page('Configuration key', '/how-to/configuration-key'),
  page('Resource', '/how-to/resource'),
  page('Table', '/how-to/table'),
  page('Route', '/how-to/route'),
  page('Back office page', '/how-to/page'),
  page('Pages in detail', '/how-to/page-details'),
  page('Event', '/how-to/event'),
  page('Event for webhooks', '/how-to/webhook-event'),
  page('Receive webhooks', '/how-to/receive-webhooks'),
  page('Delivery receipts', '/how-to/delivery-receipts'),
  page('Suppression list', '/how-to/suppression'),
  page('Notification preferences', '/how-to/notification-preferences'),
  page('Digests', '/how-to/digest'),
  page('Push messages', '/how-to/push'),
  page('Embedded inbox', '/how-to/embed-inbox'),
  page('Extension point', '/how-to/extension-point'),
  page('Scheduled task', '/how-to/scheduled-task'),
  page('Notification template', '/how-to/template'),
  page('Message to all users', '/how-to/message-to-all-users'),
  page('Payment and points', '/how-to/payment'),
  page('Sign-in with a provider', '/how-to/sign-in-provider'),
  page('API tokens', '/how-to/api-tokens'),
  page('Test', '/how-to/test'),
  page('Conformance kit', '/how-to/conformance-kit'),
]

const production = [
  page('Overview', '/operations/'),
  page('Deployment', '/operations/deployment'),
  page('Sizing', '/operations/sizing'),
  page('Figures', '/operations/figures'),
  page('Security', '/operations/security'),
  page('Second factors', '/operations/sign-in'),
  page('Monitoring', '/operations/monitoring'),
  page('Traces', '/operations/tracing'),
  page('Files on S3', '/operations/storage-s3'),
  page('Redis', '/operations/redis'),
  page('Backup', '/operations/backup'),
  page('Move to another database', '/operations/move-database'),
  page('Retention', '/operations/retention'),
  page('Personal data', '/personal-data'),
  page('Versions', '/operations/versions'),
]

const reference = [
  page('Command line', '/cli'),
  page('Configuration keys', '/configuration'),
  page('Error codes', '/errors'),
  page('Permissions', '/permissions'),
  page('Page options', '/page-options'),
  page('Change sets', '/migrations'),
  page('Texts', '/reference/texts'),
  page('Runtime dependencies', '/dependencies'),
  page('Native packages', '/native-packages'),
]

const http = [
  page('Overview', '/reference/http-api/'),
  ...pluginsWithOperations.map((plugin) => page(plugin, `/reference/http-api/${plugin}`)),
]

const api = [
  page('Overview', '/reference/'),
  ...Object.keys(apiModules).map((name) => page(`@plinth/${name}`, `/reference/${name}`)),
]

const explanation = [
  page('Architecture', '/architecture'),
  page('Promises under faults', '/faults'),
  page('Glossary', '/glossary'),
  page('What Plinth does not do', '/limits'),
  page('Decisions', '/decisions'),
]

const sidebar: DefaultTheme.SidebarItem[] = [
  { text: 'Tutorial', items: tutorial },
  { text: 'Guides', items: guides },
  { text: 'How-to guides', items: howTo },
  { text: 'Production', items: production },
  { text: 'Reference', items: reference },
  { text: 'HTTP API', items: http },
  { text: 'TypeScript API', items: api },
  { text: 'Explanation', items: explanation },
]

const chineseTutorial = [
  page('概览', '/zh-CN/tutorial/'),
  page('1. 创建产品', '/zh-CN/tutorial/1-product'),
  page('2. 编写插件', '/zh-CN/tutorial/2-plugin'),
  page('3. 存储数据', '/zh-CN/tutorial/3-table'),
  page('4. 添加权限', '/zh-CN/tutorial/4-routes'),
  page('5. 添加页面', '/zh-CN/tutorial/5-page'),
  page('6. 响应事件', '/zh-CN/tutorial/6-event'),
  page('7. 发放积分', '/zh-CN/tutorial/7-points'),
  page('8. 定时工作', '/zh-CN/tutorial/8-task'),
  page('9. 测试', '/zh-CN/tutorial/9-test'),
  page('10. 检查与发布', '/zh-CN/tutorial/10-ship'),
]

const chineseGuides = [
  page('构建产品', '/zh-CN/integrator'),
  page('编写插件', '/zh-CN/third-party'),
  page('验证插件', '/zh-CN/plugin-verify'),
  page('运行产品', '/zh-CN/operator'),
]

const chineseHowTo = [
  page('概览', '/zh-CN/how-to/'),
  page('配置项', '/zh-CN/how-to/configuration-key'),
  page('资源', '/zh-CN/how-to/resource'),
  page('数据表', '/zh-CN/how-to/table'),
  page('路由', '/zh-CN/how-to/route'),
  page('管理后台页面', '/zh-CN/how-to/page'),
  page('页面的细节', '/zh-CN/how-to/page-details'),
  page('事件', '/zh-CN/how-to/event'),
  page('提供给 Webhook 的事件', '/zh-CN/how-to/webhook-event'),
  page('接收 Webhook', '/zh-CN/how-to/receive-webhooks'),
  page('投递回执', '/zh-CN/how-to/delivery-receipts'),
  page('禁发名单', '/zh-CN/how-to/suppression'),
  page('通知偏好', '/zh-CN/how-to/notification-preferences'),
  page('摘要', '/zh-CN/how-to/digest'),
  page('推送消息', '/zh-CN/how-to/push'),
  page('嵌入站内信', '/zh-CN/how-to/embed-inbox'),
  page('扩展点', '/zh-CN/how-to/extension-point'),
  page('定时任务', '/zh-CN/how-to/scheduled-task'),
  page('通知模板', '/zh-CN/how-to/template'),
  page('发给全部用户的消息', '/zh-CN/how-to/message-to-all-users'),
  page('支付和积分', '/zh-CN/how-to/payment'),
  page('使用提供方登录', '/zh-CN/how-to/sign-in-provider'),
  page('API 令牌', '/zh-CN/how-to/api-tokens'),
  page('测试', '/zh-CN/how-to/test'),
  page('合规测试套件', '/zh-CN/how-to/conformance-kit'),
]

const chineseProduction = [
  page('概览', '/zh-CN/operations/'),
  page('部署', '/zh-CN/operations/deployment'),
  page('容量', '/zh-CN/operations/sizing'),
  page('数字', '/zh-CN/operations/figures'),
  page('安全', '/zh-CN/operations/security'),
  page('第二因素', '/zh-CN/operations/sign-in'),
  page('监控', '/zh-CN/operations/monitoring'),
  page('链路追踪', '/zh-CN/operations/tracing'),
  page('S3 文件存储', '/zh-CN/operations/storage-s3'),
  page('Redis', '/zh-CN/operations/redis'),
  page('备份', '/zh-CN/operations/backup'),
  page('迁移到另一个数据库', '/zh-CN/operations/move-database'),
  page('保留期', '/zh-CN/operations/retention'),
  page('个人数据', '/zh-CN/personal-data'),
  page('版本', '/zh-CN/operations/versions'),
]

const chineseReference = [
  page('命令行', '/zh-CN/cli'),
  page('配置项', '/configuration.zh-CN'),
  page('错误代码', '/zh-CN/errors'),
  page('权限', '/permissions'),
  page('变更集', '/zh-CN/migrations'),
  page('文本', '/reference/texts'),
  page('运行时依赖', '/zh-CN/dependencies'),
  page('本机软件包', '/zh-CN/native-packages'),
]

const chineseExplanation = [
  page('架构', '/zh-CN/architecture'),
  page('故障时的承诺', '/zh-CN/faults'),
  page('术语表', '/zh-CN/glossary'),
  page('Plinth 不提供的功能', '/zh-CN/limits'),
  page('决定', '/zh-CN/decisions'),
]

const chineseSidebar: DefaultTheme.SidebarItem[] = [
  { text: '教程', items: chineseTutorial },
  { text: '指南', items: chineseGuides },
  { text: '操作指南', items: chineseHowTo },
  { text: '生产环境', items: chineseProduction },
  { text: '参考', items: chineseReference },
  { text: 'HTTP API', items: http },
  { text: 'TypeScript API', items: api },
  { text: '说明', items: chineseExplanation },
]

const chineseSearch: DefaultTheme.LocalSearchOptions['translations'] = {
  button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
  modal: {
    displayDetails: '显示详细列表',
    resetButtonTitle: '清除搜索',
    backButtonTitle: '关闭搜索',
    noResultsText: '没有结果',
    footer: {
      selectText: '选择',
      selectKeyAriaLabel: '回车键',
      navigateText: '移动',
      navigateUpKeyAriaLabel: '上箭头',
      navigateDownKeyAriaLabel: '下箭头',
      closeText: '关闭',
      closeKeyAriaLabel: 'Esc 键',
    },
  },
}

/** Generated pages whose thousands of rows would make the search index larger than all other pages. */
const withoutSearch = new Set(['reference/texts.md', 'configuration.zh-CN.md'])

export default defineConfig({
  title: 'Plinth',
  description: 'A plugin kernel for TypeScript back ends',
  srcExclude: [...excludedPages],
  rewrites: {
    'operations/README.md': 'operations/index.md',
    'zh-CN/operations/README.md': 'zh-CN/operations/index.md',
  },
  markdown: {
    config: adaptDocuments,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  buildEnd: writePlainPages,
  // The bundler does not know the target of the repository's tsconfig.
  vite: { esbuild: { tsconfigRaw: '{}' } },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar } },
    'zh-CN': {
      label: '简体中文',
      lang: 'zh-CN',
      description: '面向 TypeScript 后端的插件内核',
      themeConfig: {
        sidebar: chineseSidebar,
        outline: { level: [2, 3], label: '本页内容' },
        docFooter: { prev: '上一页', next: '下一页' },
        darkModeSwitchLabel: '外观',
        sidebarMenuLabel: '菜单',
        returnToTopLabel: '返回顶部',
        langMenuLabel: '切换语言',
        skipToContentLabel: '跳到正文',
      },
    },
  },
  themeConfig: {
    i18nRouting: false,
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        locales: { 'zh-CN': { translations: chineseSearch } },
        miniSearch: { searchOptions },
        _render: (source, env, md) => (withoutSearch.has(env.relativePath) ? '' : md.render(source, env)),
      },
    },
  },
})
