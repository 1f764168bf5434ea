export * from './contract.ts'
export { default } from './plugin.ts'
export { PluginKey, type PluginKeyOptions, pluginKeySetting, SealedBox } from './secrets/secret-box.ts'
