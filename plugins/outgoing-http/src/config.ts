import { guardsPermission, key } from '@plinth/kernel'
import { hostRule } from './address-rules.ts'

const wait = (en: string, zhCN: string, standard: string) =>
  key.duration({
    title: { en, 'zh-CN': zhCN },
    default: standard,
    minimum: '100ms',
    maximum: '10m',
    reload: 'live',
  })

export const keys = {
  'platform.outgoing-http.allowed-hosts': key.stringList({
    title: { en: 'Allowed hosts in private networks', 'zh-CN': '允许访问的内网主机' },
    description: {
      en: 'Outgoing requests only reach public addresses. The hosts in this list may have private addresses. Use a host name, an IP address or *.name. Add the port if it is not 443, 8443 or 80, for example gotify.lan:8080.',
      'zh-CN':
        '外发请求只能访问公网地址；此处列出的主机可以使用内网地址：主机名、IP 地址或 *.名称，端口不是 443、8443、80 时须写明，例如 gotify.lan:8080。',
    },
    default: [],
    maxItems: 1000,
    items: { pattern: hostRule },
    rule: {
      en: 'be a host name, an IP address (IPv6 in brackets) or *.name, with a port or without',
      'zh-CN': '是主机名、IP 地址（IPv6 加方括号）或 *.名称，可带端口',
    },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.outgoing-http.allowed-cidrs': key.cidrList({
    title: { en: 'Allowed private address ranges', 'zh-CN': '允许访问的内网网段' },
    description: {
      en: 'Outgoing requests may also reach these ranges, under any host name.',
      'zh-CN': '除公网地址外，外发请求还可以访问这些网段，不限主机名。',
    },
    default: [],
    maxItems: 1000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.outgoing-http.allowed-ports': key.stringList({
    title: { en: 'Additional ports', 'zh-CN': '其他允许的端口' },
    description: {
      en: 'Outgoing requests may use these ports in addition to 443, 8443 and 80.',
      'zh-CN': '除 443、8443、80 外，外发请求还可以使用这些端口。',
    },
    default: [],
    maxItems: 1000,
    items: { pattern: '^[1-9][0-9]{0,4}$' },
    rule: { en: 'be a port number without leading zeros', 'zh-CN': '是不以 0 开头的端口号' },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.outgoing-http.allow-http': key.boolean({
    title: { en: 'Allow unencrypted requests', 'zh-CN': '允许未加密的请求' },
    description: {
      en: 'Off: only https addresses can be reached.',
      'zh-CN': '关闭时只能访问 https 地址。',
    },
    default: false,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.outgoing-http.deadline': wait('Outgoing request timeout', '外发请求超时时间', '15s'),
  'platform.outgoing-http.connect-timeout': wait('Connect timeout', '连接超时时间', '3s'),
  'platform.outgoing-http.header-timeout': wait('Response header timeout', '响应头超时时间', '10s'),
  'platform.outgoing-http.body-timeout': wait('Response body idle timeout', '响应内容空闲超时时间', '10s'),
  'platform.outgoing-http.max-response-size': key.bytes({
    title: { en: 'Maximum response size', 'zh-CN': '响应大小上限' },
    description: {
      en: 'After this size the connection is closed and the rest is not read.',
      'zh-CN': '超出后关闭连接，不再读取其余内容。',
    },
    default: '64KiB',
    minimum: '1KiB',
    maximum: '64MiB',
    reload: 'live',
  }),
}
