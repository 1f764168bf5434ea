import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { site } from '@plinth/site'
import { pages } from './admin-pages.ts'
import { Compiler } from './compile/compiler.ts'
import { keys } from './config.ts'
import { templates } from './contract.ts'
import { audited, businessError, messages } from './declarations.ts'
import { Template, templateTables } from './entities.ts'
import { createMessageTemplate } from './migrations/0001-create-message-template.ts'
import { templateLabels } from './template-labels.ts'
import { templateList, templateOperations } from './template-operations.ts'
import { previewRoutes } from './template-preview.ts'
import { TemplateService } from './template-service.ts'

export default definePlugin({
  id: 'template',
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires: { kernel, database, http: optional(http), i18n: optional(i18n), site: optional(site) },
  provides: [templates],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ template: templateTables(database) })),
    ...backOffice({ pages, labels: ({ database }: WithDatabase) => ({ 'template.code': templateLabels(database) }) }),
  ],
  config: keys,
  configGroups: { template: { en: 'Message templates', 'zh-CN': '消息模板' } },
  permissions: templateOperations.permissions,
  migrations: [createMessageTemplate],
  entities: [Template.entity],
  messages,
  setup({ services, config, provide, onStop }) {
    const { database: db, http, i18n, site } = services
    const { clock } = db
    const defaultLocale = () => i18n?.negotiate(undefined) ?? 'en'
    const siteTimeZone = () => site?.timeZone ?? 'UTC'
    const cacheSize = config.get('platform.template.cache-size')
    provide(templates, new TemplateService({ db, defaultLocale, siteTimeZone, cacheSize, clock }))
    const compiler = new Compiler(clock, () => config.get('platform.template.compile-deadline'))
    onStop(() => compiler.stop())
    const operations = [...templateList.routes, ...templateOperations.routes]
    http?.addRoutes(operations, { services, parts: { compiler } })
    const siteFormat = () => ({ locale: defaultLocale(), timeZone: siteTimeZone() })
    http?.addRoutes(previewRoutes, { compiler, site: siteFormat, clock })
  },
})
