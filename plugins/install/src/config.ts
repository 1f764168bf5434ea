import { type ConfigView, guardsPermission, key } from '@plinth/kernel'
import { entryNames } from './contract.ts'

export const storagePlaceholder = '<storage dir>'

export const keys = {
  'platform.install.installed': key.boolean({
    title: { en: 'Installed', 'zh-CN': '已安装' },
    description: {
      en: 'Whether the product is installed. Only the installation and its administration set this value.',
      'zh-CN': '产品是否已安装，仅由安装流程及其管理操作写入。',
    },
    default: false,
    state: true,
    reload: 'live',
  }),
  'platform.install.enabled': key.boolean({
    title: { en: 'Installation', 'zh-CN': '安装流程' },
    description: { en: 'Whether the product can be installed over HTTP.', 'zh-CN': '是否允许通过 HTTP 安装产品。' },
    default: true,
    permission: guardsPermission,
  }),
  'platform.install.mode': key.enum({
    title: { en: 'Installation mode', 'zh-CN': '安装模式' },
    description: {
      en: 'auto: open until the product is installed. forced: open until the product is installed, even if the installation is disabled. disabled: always closed.',
      'zh-CN': 'auto：产品安装完成前开放；forced：产品安装完成前开放，即使已停用安装流程；disabled：始终关闭。',
    },
    values: ['auto', 'forced', 'disabled'],
    default: 'auto',
    permission: guardsPermission,
  }),
  'platform.install.config-file': key.string({
    title: { en: 'Configuration file of the installation', 'zh-CN': '安装写入的配置文件' },
    description: {
      en: 'The installation writes this file, and the product reads it when it starts. The path is relative to the directory of the product file.',
      'zh-CN': '由安装流程写入，产品启动时读取；路径相对于产品文件所在目录。',
    },
    default: '.env',
    minLength: 1,
    scope: 'process',
  }),
  'platform.install.execution-log-file': key.string({
    title: { en: 'Installation log file', 'zh-CN': '安装执行日志文件' },
    description: {
      en: 'The format is JSON Lines. <storage dir> is replaced by the storage directory.',
      'zh-CN': 'JSON Lines 格式，<storage dir> 会替换为存储目录。',
    },
    default: `${storagePlaceholder}/install/execution.log`,
    minLength: 1,
    scope: 'process',
  }),
  'platform.install.allow-reinstall': key.boolean({
    title: { en: 'Allow reinstallation', 'zh-CN': '允许重新安装' },
    description: {
      en: 'Opens the installation of an installed product and allows resetting its installation state. Leave it off in production.',
      'zh-CN': '对已安装的产品开放安装流程并允许重置安装状态。生产环境请保持关闭。',
    },
    default: false,
    editable: false,
  }),
  'platform.install.token': key.string({
    title: { en: 'Install token', 'zh-CN': '安装令牌' },
    description: {
      en: 'Required to install. Without a token, the installation is only available at localhost, at IP addresses and at the host of platform.site.url. In production, set the token with the environment variable. It must have at least 32 characters, at least 12 of them distinct. Otherwise the installation stays closed.',
      'zh-CN':
        '安装时须提供此令牌。未配置时只能通过 localhost、IP 地址或 platform.site.url 的主机名安装。生产环境中必须来自环境变量，至少 32 个字符且其中至少 12 个不同，否则安装流程保持关闭。',
    },
    default: '',
    sensitive: true,
    editable: false,
  }),
  'platform.install.connection-trial': key.duration({
    title: { en: 'Trial time of a new connection', 'zh-CN': '新连接的试用时长' },
    description: {
      en: 'After the installation writes a new database or cache connection, the product tries to start with it for this time. Then it restores the previous connection.',
      'zh-CN': '安装写入新的数据库或缓存连接后，产品尝试以其启动的最长时间，超时则恢复为先前的连接。',
    },
    default: '2m',
    minimum: '1s',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.install.token-ttl': key.duration({
    title: { en: 'Token storage time in the browser', 'zh-CN': '页面保存令牌的时长' },
    description: {
      en: 'Suggested time for which a page stores the token. Every call checks the token again.',
      'zh-CN': '建议页面保存令牌的时长；每次调用仍会校验令牌。',
    },
    default: '30m',
    minimum: '1s',
    permission: guardsPermission,
  }),
  'platform.install.cidr-check-enabled': key.boolean({
    title: { en: 'Check source networks', 'zh-CN': '来源网络检查' },
    description: {
      en: 'The installation is only available from the allowed source networks.',
      'zh-CN': '仅允许从“允许的来源网络”执行安装。',
    },
    default: false,
    permission: guardsPermission,
  }),
  'platform.install.allowed-cidrs': key.cidrList({
    title: { en: 'Allowed source networks', 'zh-CN': '允许的来源网络' },
    description: {
      en: 'Must contain the address of the connection and the client address that a proxy reports. Behind a proxy, include the address of the proxy.',
      'zh-CN': '须包含连接地址和代理报告的客户端地址；使用代理时须同时包含代理的地址。',
    },
    default: ['127.0.0.1/32', '::1/128'],
    permission: guardsPermission,
  }),
  'platform.install.require-https': key.boolean({
    title: { en: 'Require HTTPS for the installation', 'zh-CN': '安装要求 HTTPS' },
    default: false,
    permission: guardsPermission,
  }),
  'platform.install.allow-lite': key.boolean({
    title: { en: 'Lite mode', 'zh-CN': '精简模式' },
    description: {
      en: 'Allows installing with the embedded database and without Redis.',
      'zh-CN': '允许使用内嵌数据库且不启用 Redis 进行安装。',
    },
    default: true,
    permission: guardsPermission,
  }),
  'platform.install.access-protection-enabled': key.boolean({
    title: { en: 'Restrict access before the installation', 'zh-CN': '安装前访问保护' },
    description: {
      en: 'Until the product is installed, pages redirect to the installation and other requests are rejected.',
      'zh-CN': '产品安装完成前，页面跳转到安装页，其他请求被拒绝。',
    },
    default: false,
    permission: guardsPermission,
  }),
  'platform.install.page.enabled': key.boolean({
    title: { en: 'Installation page', 'zh-CN': '安装页面' },
    default: true,
  }),
  'platform.install.root-route.enabled': key.boolean({
    title: { en: 'Root path opens the installation', 'zh-CN': '根路径进入安装' },
    description: { en: 'Applies until the product is installed.', 'zh-CN': '在产品安装完成前生效。' },
    default: true,
  }),
  'platform.install.root-route.mode': key.enum({
    title: { en: 'How the root path opens the installation', 'zh-CN': '根路径接管方式' },
    values: ['forward', 'redirect'],
    default: 'redirect',
  }),
  'platform.install.root-route.target': key.string({
    title: { en: 'Target of the root path before the installation', 'zh-CN': '安装前根路径目标' },
    default: '/install/',
    // A path that leads to another site is rejected when it is saved. If another source sets it, `/` is used instead
    // (decision F13).
    multiline: true,
  }),
  'platform.view.root.enabled': key.boolean({
    title: { en: 'Root page', 'zh-CN': '根页面' },
    description: { en: 'Whether the product serves the root path.', 'zh-CN': '产品是否提供根路径。' },
    default: true,
  }),
  'platform.view.root.target': key.string({
    title: { en: 'Target of the root path', 'zh-CN': '根路径目标' },
    description: {
      en: 'Path that the root path opens after the installation. If it is not configured and the back office is the only page for users, the back office opens. / shows a simple page.',
      'zh-CN':
        '安装完成后根路径跳转到的路径。未配置且管理后台是唯一面向用户的页面时，进入管理后台；为 / 时显示一个简单页面。',
    },
    default: '/',
    multiline: true,
  }),
  'platform.view.entries': key.stringList({
    title: { en: 'Pages served by a proxy', 'zh-CN': '由代理提供的页面' },
    description: {
      en: 'Pages that a proxy serves at the address of the product. The last page of the installation shows links to them. Pages of the product itself are found automatically.',
      'zh-CN': '由代理在产品地址下提供的页面，安装完成页会显示其链接；产品自身的页面会自动识别。',
    },
    items: { enum: entryNames },
    default: [],
  }),
}

export type InstallConfig = ConfigView<typeof keys>
