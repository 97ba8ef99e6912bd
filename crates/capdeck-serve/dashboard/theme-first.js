// Runs before the first paint, so that a chosen theme never flashes in the other one. Not a module for that reason.
try {
  var chosen = localStorage.getItem('capdeck-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch (_) {
  // Without storage the system's theme holds.
}
