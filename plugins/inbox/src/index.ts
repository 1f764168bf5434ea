export * from './contract.ts'
export { type Category, categories, categoryOf } from './contract.ts'
export { jumpTargetOf, moduleOf } from './items/jump-target.ts'
export { default } from './plugin.ts'
export {
  type DeclaredCategory,
  type NotificationCategories,
  type NotificationCategory,
  notificationCategories,
  notificationCategory,
  type PreferenceChannel,
  preferenceChannel,
} from './preferences/categories.ts'
export { type PreferenceLinks, preferenceLinks } from './preferences/links.ts'
export { firstMoment, offsetAt } from './preferences/zoned-time.ts'
