import { type ConfigView, key } from '@plinth/kernel'
import { entryNames } from './contract.ts'

/** Placeholder for the storage directory in a path. */
export const storagePlaceholder = '<storage dir>'

export const keys = {
  'platform.install.installed': key.boolean({
    title: { en: 'Installed', 'zh-CN': '已安装' },
    description: {
      en: 'Whether the product is installed. Written by the installation and by its administration alone.',
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
  }),
  'platform.install.mode': key.enum({
    title: { en: 'Mode of the installation', 'zh-CN': '安装模式' },
    description: {
      en: 'auto: open while the product is not installed. forced: open then even where the installation is switched off. disabled: always closed.',
      'zh-CN': 'auto：未安装时开放；forced：未安装时即使关闭了安装流程也开放；disabled：始终关闭。',
    },
    values: ['auto', 'forced', 'disabled'],
    default: 'auto',
  }),
  'platform.install.config-file': key.string({
    title: { en: 'File that the installation writes', 'zh-CN': '安装写入的配置文件' },
    description: {
      en: 'Relative to the directory of the product file. It is the file that the product reads at its start.',
      'zh-CN': '相对于产品文件所在目录，即产品启动时读取的文件。',
    },
    default: '.env',
    minLength: 1,
    scope: 'process',
  }),
  'platform.install.execution-log-file': key.string({
    title: { en: 'Log of the installation', 'zh-CN': '安装执行日志文件' },
    description: {
      en: 'JSON Lines. <storage dir> stands for the directory of the storage.',
      'zh-CN': 'JSON Lines 格式，<storage dir> 表示存储目录。',
    },
    default: `${storagePlaceholder}/install/execution.log`,
    minLength: 1,
    scope: 'process',
  }),
  'platform.install.allow-reinstall': key.boolean({
    title: { en: 'Installing again', 'zh-CN': '允许重新安装' },
    description: {
      en: 'Opens the installation of a product that is installed, and allows to reset its state. Leave it off in production.',
      'zh-CN': '对已安装的产品开放安装流程并允许重置安装状态。生产环境请保持关闭。',
    },
    default: false,
    editable: false,
  }),
  'platform.install.token': key.string({
    title: { en: 'Install token', 'zh-CN': '安装令牌' },
    description: {
      en: 'Whoever installs must know it. Without one the installation answers only under localhost, IP addresses and the host of platform.site.url. In production it must come from the environment variable and have at least 32 characters, 12 of them different; otherwise the installation stays closed.',
      'zh-CN':
        '执行安装者须提供此令牌。未配置时只能通过 localhost、IP 地址或 platform.site.url 的主机名安装。生产环境中必须来自环境变量，至少 32 个字符且其中至少 12 个不同，否则安装流程保持关闭。',
    },
    default: '',
    sensitive: true,
    editable: false,
  }),
  'platform.install.connection-trial': key.duration({
    title: { en: 'Trial of a new connection', 'zh-CN': '新连接的试用时长' },
    description: {
      en: 'How long the product tries to start on a database or cache connection that the installation has written, before it goes back to the previous one.',
      'zh-CN': '安装写入新的数据库或缓存连接后，产品尝试以其启动的最长时间，超时则恢复为先前的连接。',
    },
    default: '2m',
    minimum: '1s',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.install.token-ttl': key.duration({
    title: { en: 'Validity of a token check', 'zh-CN': '令牌校验有效期' },
    description: {
      en: 'How long a page may keep the token. A suggestion: the token is checked with every call.',
      'zh-CN': '页面保存令牌的建议时长，每次调用仍会校验令牌。',
    },
    default: '30m',
    minimum: '1s',
  }),
  'platform.install.cidr-check-enabled': key.boolean({
    title: { en: 'Check of the source network', 'zh-CN': '来源网络检查' },
    description: {
      en: 'Allow the installation from the networks below only.',
      'zh-CN': '仅允许从下列网络执行安装。',
    },
    default: false,
  }),
  'platform.install.allowed-cidrs': key.cidrList({
    title: { en: 'Allowed source networks', 'zh-CN': '允许的来源网络' },
    description: {
      en: 'The address of the connection and the one that a proxy names must both be in it: with a proxy, its address too.',
      'zh-CN': '连接地址和代理所报的客户端地址都必须在其中；使用代理时须同时包含代理的地址。',
    },
    default: ['127.0.0.1/32', '::1/128'],
  }),
  'platform.install.require-https': key.boolean({
    title: { en: 'HTTPS for the installation', 'zh-CN': '安装要求 HTTPS' },
    default: false,
  }),
  'platform.install.allow-lite': key.boolean({
    title: { en: 'Lite mode', 'zh-CN': '精简模式' },
    description: {
      en: 'Allow to install on the embedded database and without Redis.',
      'zh-CN': '允许使用内嵌数据库且不启用 Redis 进行安装。',
    },
    default: true,
  }),
  'platform.install.access-protection-enabled': key.boolean({
    title: { en: 'Protection before the installation', 'zh-CN': '安装前访问保护' },
    description: {
      en: 'Until the product is installed, pages lead to the installation and other requests are refused.',
      'zh-CN': '产品安装完成前，页面跳转到安装页，其他请求被拒绝。',
    },
    default: false,
  }),
  'platform.install.page.enabled': key.boolean({
    title: { en: 'Install page', 'zh-CN': '安装页面' },
    default: true,
  }),
  'platform.install.root-route.enabled': key.boolean({
    title: { en: 'Root path leads to the installation', 'zh-CN': '根路径进入安装' },
    description: { en: 'Until the product is installed.', 'zh-CN': '在产品安装完成之前。' },
    default: true,
  }),
  'platform.install.root-route.mode': key.enum({
    title: { en: 'How the root path leads there', 'zh-CN': '根路径接管方式' },
    values: ['forward', 'redirect'],
    default: 'redirect',
  }),
  'platform.install.root-route.target': key.string({
    title: { en: 'Where the root path leads before the installation', 'zh-CN': '安装前根路径目标' },
    default: '/install/',
    // A value from another source that leads to another site is used as "/" (decision F.13). Saving such a value is
    // rejected.
    multiline: true,
  }),
  'platform.view.root.enabled': key.boolean({
    title: { en: 'Root page', 'zh-CN': '根页面' },
    description: { en: 'Whether the root path answers at all.', 'zh-CN': '根路径是否响应。' },
    default: true,
  }),
  'platform.view.root.target': key.string({
    title: { en: 'Entry of the product', 'zh-CN': '产品入口' },
    description: {
      en: 'Path that the root path leads to once the product is installed. While nothing is configured, it leads to the back office where that is the only page for people. / shows a small page.',
      'zh-CN':
        '安装完成后根路径跳转到的路径。未配置时，若管理后台是唯一面向人的页面则进入管理后台；为 / 时显示一个简单页面。',
    },
    default: '/',
    multiline: true,
  }),
  'platform.view.entries': key.stringList({
    title: { en: 'Pages beside the product', 'zh-CN': '产品之外的页面' },
    description: {
      en: 'What a proxy serves below the address of the product, for the links at the end of the installation. What the product serves itself is found without this.',
      'zh-CN': '由代理在产品地址下提供的页面，用于安装完成后的链接；产品自身提供的页面无需填写。',
    },
    items: { enum: entryNames },
    default: [],
  }),
}

export type InstallConfig = ConfigView<typeof keys>
