import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import type { Operator } from '@plinth/iam'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { site } from '@plinth/site'
import { storage, uploads } from '@plinth/storage'
import { pages } from './admin-pages.ts'
import { Compiler } from './compile/compiler.ts'
import { keys } from './config.ts'
import { templates, templateUses } from './contract.ts'
import { audited, businessError, messages } from './declarations.ts'
import { Template, TemplateDraft, TemplateVersion, templateTables } from './entities.ts'
import { createMessageTemplate } from './migrations/0001-create-message-template.ts'
import { addTemplateVersions } from './migrations/0002-add-template-versions.ts'
import { purge } from './tasks.ts'
import { templateIdLabels, templateLabels } from './template-labels.ts'
import {
  templateList,
  templateOperations,
  versionList,
  versionOperations,
  versionPermissions,
} from './template-operations.ts'
import { previewRoutes } from './template-preview.ts'
import { TemplateService } from './template-service.ts'
import { Versions } from './versions/template-versions.ts'
import { versionRoutes } from './versions/version-routes.ts'

export default definePlugin({
  id: 'template',
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires: {
    kernel,
    database,
    http: optional(http),
    i18n: optional(i18n),
    site: optional(site),
    storage: optional(storage),
    uploads: optional(uploads),
  },
  provides: [templates],
  extensionPoints: [templateUses],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ template: templateTables(database) })),
    ...backOffice({
      pages,
      labels: ({ database }: WithDatabase) => ({
        'template.code': templateLabels(database),
        'template.template': templateIdLabels(database),
        'template.draft': templateIdLabels(database),
      }),
    }),
  ],
  config: keys,
  configGroups: { template: { en: 'Message templates', 'zh-CN': '消息模板' } },
  permissions: [...templateOperations.permissions, ...versionPermissions],
  migrations: [createMessageTemplate, addTemplateVersions],
  entities: [Template.entity, TemplateDraft.entity, TemplateVersion.entity],
  scheduledTasks: [purge],
  messages,
  setup({ services, config, provide, onStop, contributions }) {
    const { database: db, http, i18n, kernel, site, storage, uploads } = services
    const { clock } = db
    const defaultLocale = () => i18n?.negotiate(undefined) ?? 'en'
    const siteTimeZone = () => site?.timeZone ?? 'UTC'
    const cacheSize = config.get('platform.template.cache-size')
    const compiler = new Compiler(clock, () => config.get('platform.template.compile-deadline'))
    onStop(() => compiler.stop())
    const at = { services, parts: { compiler, db } }
    const operations = [templateList, templateOperations, versionList, versionOperations].flatMap(
      ({ routes }) => routes,
    )
    http?.addRoutes(operations, at)
    const files = storage && uploads && { storage, uploads }
    const store = (operator: Operator) => templateOperations.store(at, operator)
    const versions = new Versions({ db, kernel, compiler, store, files })
    provide(templates, new TemplateService({ db, defaultLocale, siteTimeZone, cacheSize, clock, versions }))
    http?.addRoutes(versionRoutes, { versions, uses: () => contributions(templateUses) })
    const siteFormat = () => ({ locale: defaultLocale(), timeZone: siteTimeZone() })
    http?.addRoutes(previewRoutes, { compiler, site: siteFormat, clock })
  },
})
